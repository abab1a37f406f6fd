// foreign.c - files that are no JSON at all: what they are, by their first bytes, and what to do with them.
//
// In:  the first bytes of the unpacked text.
// Out: words. The marks are those of the formats' own specifications; Perfetto's has none of its own, and is
//      told by how its first packet begins.

#include "trace/reader_internal.h"

struct mark {
    size_t at; // where in the text
    const char *bytes;
    size_t size;
    struct fp_foreign foreign;
};

#define MARK(at, bytes, what, cure)                                                                          \
    {                                                                                                        \
        at, bytes, sizeof(bytes) - 1, {                                                                      \
            what, cure                                                                                       \
        }                                                                                                    \
    }

static const struct mark marks[] = {
    MARK(0, "\x1F\x8B", "packed twice: gzip stands within",
         "Unpack it once: gzip -dc (zstd -dc) FILE | flagprof VERB -"),
    MARK(0, "\x28\xB5\x2F\xFD", "packed twice: zstd stands within",
         "Unpack it once: gzip -dc (zstd -dc) FILE | flagprof VERB -"),
    MARK(0, "PK\3\4", "a zip archive", "Unpack it (unzip FILE) and read the trace in it"),
    MARK(0, "PK\5\6", "an empty zip archive", "The program that should have filled it wrote nothing"),
    MARK(0,
         "\xFD"
         "7zXZ",
         "packed with xz", "Unpack it: xz -dc FILE | flagprof VERB -"),
    MARK(0, "BZh", "packed with bzip2", "Unpack it: bzip2 -dc FILE | flagprof VERB -"),
    MARK(0, "\x04\x22\x4D\x18", "packed with lz4", "Unpack it: lz4 -dc FILE | flagprof VERB -"),
    MARK(0, "7z\xBC\xAF\x27\x1C", "a 7z archive", "Unpack it (7z x FILE) and read the trace in it"),
    MARK(257, "ustar", "a tar archive", "Unpack it (tar -xf FILE) and read the traces in it"),
    MARK(0, "SQLite format 3", "an SQLite database",
         "Export the recording as a Chrome trace, or read the trace that it was made from"),
    MARK(0, "version https://git-lfs", "a pointer of Git LFS instead of the file",
         "`git lfs pull` fetches the file itself"),
    MARK(0, "\x80\2", "a Python pickle", "Write the trace with export_chrome_trace"),
    MARK(0, "\x80\3", "a Python pickle", "Write the trace with export_chrome_trace"),
    MARK(0, "\x80\4", "a Python pickle", "Write the trace with export_chrome_trace"),
    MARK(0, "\x80\5", "a Python pickle", "Write the trace with export_chrome_trace"),
    MARK(0,
         "\x7F"
         "ELF",
         "a program or a library", "Name the trace that it wrote"),
    MARK(0, "<?xml", "a text in XML", "A download may have given an error's page instead of the file"),
    MARK(0, "<", "a page in HTML", "A download may have given an error's page instead of the file"),
    MARK(0, "# tracer:", "a text of the kernel's ftrace", "Convert it to a Chrome trace first"),
};

// A message whose first field, number 1, is another message (Perfetto's packets, XProf's planes): its length,
// and then no text.
static bool is_protobuf(const unsigned char *s, size_t size) {
    size_t i = 1;
    if (size < 8 || s[0] != 0x0A)
        return false;
    while (i < 5 && s[i] & 0x80)
        i++;
    for (size_t end = i + 16 < size ? i + 16 : size; i < end; i++)
        if (s[i] < 0x20 && s[i] != '\t' && s[i] != '\n' && s[i] != '\r')
            return true;
    return false;
}

static bool is_zero(const unsigned char *s, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (s[i])
            return false;
    return size != 0;
}

static bool is_binary(const unsigned char *s, size_t size) {
    for (size_t i = 0; i < size && i < 512; i++)
        if (s[i] < 0x20 && s[i] != '\t' && s[i] != '\n' && s[i] != '\r' && s[i] != '\f')
            return true;
    return false;
}

const struct fp_foreign *fp_foreign_find(const char *text, size_t size) {
    static const struct fp_foreign protobuf = {
        "a binary file, by its beginning protobuf (Perfetto's or XProf's)",
        "Perfetto's `traceconv json` and XProf's trace viewer write JSON",
    };
    static const struct fp_foreign zero = {
        "a file of zero bytes", "The disk was full or the machine went down while it was written"
    };
    static const struct fp_foreign binary = { "a binary file", "Export the recording as a Chrome trace" };
    size_t skip = 0; // pages begin with empty lines at times
    while (skip < size && strchr(" \t\r\n", text[skip]) && text[skip])
        skip++;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        const struct mark *mark = &marks[i];
        size_t at = mark->bytes[0] == '<' ? skip : mark->at;
        if (size >= at + mark->size && memcmp(text + at, mark->bytes, mark->size) == 0)
            return &mark->foreign;
    }
    if (is_protobuf((const unsigned char *)text, size))
        return &protobuf;
    if (is_zero((const unsigned char *)text, size))
        return &zero;
    return size >= 16 && is_binary((const unsigned char *)text, size) ? &binary : NULL;
}
