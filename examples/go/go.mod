module redlock-example

go 1.19
