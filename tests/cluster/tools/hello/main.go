// A small server for trying out a cluster: on port 8080 it says hello, and which pod it is.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	name, _ := os.Hostname()
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintf(answer, "hello from %s\n", name) })
	log.Fatal(http.ListenAndServe(":8080", nil))
}
