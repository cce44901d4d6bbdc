// Reads objects of Kubernetes by the types of its API, each field of which has to be there; no cluster.
// SPDX-License-Identifier: MIT

// Standard input is YAML of any number of objects. What does not fit is printed, with status 1.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	stream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// An empty object of that kind; nil for one that deploy/ has no use for.
func empty(kind meta.TypeMeta) any {
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Service":
		return &core.Service{}
	case "apps/v1 StatefulSet":
		return &apps.StatefulSet{}
	case "apps/v1 Deployment":
		return &apps.Deployment{}
	case "batch/v1 CronJob":
		return &batch.CronJob{}
	case "policy/v1 PodDisruptionBudget":
		return &policy.PodDisruptionBudget{}
	}
	return nil
}

func misfit(document []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	object := empty(kind)
	if object == nil {
		return fmt.Errorf("there is no kind %q of %q", kind.Kind, kind.APIVersion)
	}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	return nil
}

func main() {
	documents := stream.NewYAMLReader(bufio.NewReader(os.Stdin))
	read, misfits := 0, 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = misfit(document)
		}
		if err != nil {
			fmt.Println(err)
			misfits++
		}
		read++
	}
	if misfits > 0 || read == 0 {
		os.Exit(1)
	}
}
