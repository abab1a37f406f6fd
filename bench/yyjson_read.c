// yyjson_read.c - what yyjson needs to read a whole file into its tree. For the comparison in bench/trace.py only.
//
// In:  a file. Out: one line, the count of values.
#include <stdio.h>

#include "yyjson.h"

int main(int argc, char **argv) {
    yyjson_doc *doc = argc > 1 ? yyjson_read_file(argv[1], 0, NULL, NULL) : NULL;
    if (!doc)
        return 2;
    printf("%zu values\n", yyjson_doc_get_val_count(doc));
    yyjson_doc_free(doc);
    return 0;
}
