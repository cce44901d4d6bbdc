module redlock.bench/redsync

go 1.26.0

require (
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/redis/rueidis/rueidiscompat v1.0.79
	golang.org/x/sys v0.49.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
)

// The newest that the module proxy gave; redsync only passes SETNX, EVAL and EVALSHA through it.
replace github.com/redis/rueidis/rueidiscompat v1.0.79 => github.com/redis/rueidis/rueidiscompat v1.0.69
