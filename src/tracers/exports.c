// exports.c - the dynamic symbols of an ELF file (exports.h).
//
// Every offset and size in the file is held against the file's length before anything is read there, and what is
// read is copied, so that a file which changes meanwhile is a wrong answer and no crash.

#include "tracers/exports.h"

#include "tracers/libraries.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_BYTES_MAX = 256 << 20 };

#if defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

struct fp_exports {
    Elf64_Sym *symbols;
    Elf64_Dyn *dynamic;
    char *symbol_names, *dynamic_names;
    size_t symbol_count, dynamic_count, symbol_names_bytes, dynamic_names_bytes;
};

struct file {
    int descriptor;
    uint64_t bytes;
    Elf64_Shdr *sections;
    size_t section_count;
};

// A copy of a part of the file, and a 0 behind it. NULL: it does not lie in the file, or cannot be read.
static void *copy_part(const struct file *file, uint64_t at, uint64_t bytes) {
    if (bytes > PART_BYTES_MAX || at > file->bytes || bytes > file->bytes - at)
        return NULL;
    char *copy = malloc(bytes + 1);
    size_t done = 0;
    while (copy && done < bytes) {
        ssize_t read = pread(file->descriptor, copy + done, bytes - done, (off_t)(at + done));
        if (read <= 0) {
            free(copy);
            return NULL;
        }
        done += (size_t)read;
    }
    if (copy)
        copy[bytes] = '\0';
    return copy;
}

static bool is_library(const Elf64_Ehdr *header) {
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_DYN &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

// The first section of a type, with the names that its entries point into.
static void read_table(const struct file *file, uint32_t type, size_t entry_bytes, void **entries,
                       size_t *count, char **names, size_t *names_bytes) {
    for (size_t at = 0; at < file->section_count; at++) {
        const Elf64_Shdr *section = &file->sections[at];
        if (section->sh_type != type || section->sh_link >= file->section_count)
            continue;
        const Elf64_Shdr *linked = &file->sections[section->sh_link];
        *entries = copy_part(file, section->sh_offset, section->sh_size);
        *names = copy_part(file, linked->sh_offset, linked->sh_size);
        *count = *entries && *names ? section->sh_size / entry_bytes : 0;
        *names_bytes = *names ? linked->sh_size : 0;
        return;
    }
}

static int read_tables(struct file *file, struct fp_exports *exports, const char *path,
                       struct fp_error *err) {
    Elf64_Ehdr *header = copy_part(file, 0, sizeof(*header));
    if (!header || !is_library(header) || header->e_machine != OUR_MACHINE) {
        fp_error_set(err, "%s is %s", path,
                     header && is_library(header) ? "a library for another processor" : "no library");
        free(header);
        return -ELIBBAD;
    }
    if (header->e_shentsize == sizeof(*file->sections)) {
        file->section_count = header->e_shnum;
        file->sections = copy_part(file, header->e_shoff, header->e_shnum * sizeof(*file->sections));
    }
    free(header);
    if (!file->sections)
        file->section_count = 0;
    void *symbols = NULL, *dynamic = NULL;
    read_table(file, SHT_DYNSYM, sizeof(*exports->symbols), &symbols, &exports->symbol_count,
               &exports->symbol_names, &exports->symbol_names_bytes);
    read_table(file, SHT_DYNAMIC, sizeof(*exports->dynamic), &dynamic, &exports->dynamic_count,
               &exports->dynamic_names, &exports->dynamic_names_bytes);
    exports->symbols = symbols;
    exports->dynamic = dynamic;
    return 0;
}

int fp_exports_read(struct fp_exports **result, const char *path, struct fp_error *err) {
    struct stat status;
    struct file file = { .descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0) {
        fp_error_set(err, "%s: %s", path, strerror(errno));
        if (file.descriptor >= 0)
            close(file.descriptor);
        return -ELIBACC;
    }
    file.bytes = S_ISREG(status.st_mode) && status.st_size > 0 ? (uint64_t)status.st_size : 0;
    struct fp_exports *exports = calloc(1, sizeof(*exports));
    int answer = exports ? read_tables(&file, exports, path, err) : -ENOMEM;
    close(file.descriptor);
    free(file.sections);
    if (answer != 0) {
        fp_exports_free(exports);
        return answer;
    }
    *result = exports;
    return 0;
}

void fp_exports_free(struct fp_exports *exports) {
    if (!exports)
        return;
    free(exports->symbols);
    free(exports->dynamic);
    free(exports->symbol_names);
    free(exports->dynamic_names);
    free(exports);
}

static bool is_exported(const Elf64_Sym *symbol) {
    unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other), binding = ELF64_ST_BIND(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && binding != STB_LOCAL &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

bool fp_exports_has(const struct fp_exports *exports, const char *symbol) {
    for (size_t at = 0; at < exports->symbol_count; at++) {
        const Elf64_Sym *here = &exports->symbols[at];
        if (here->st_name < exports->symbol_names_bytes && is_exported(here) &&
            strcmp(exports->symbol_names + here->st_name, symbol) == 0)
            return true;
    }
    return false;
}

bool fp_exports_needs(const struct fp_exports *exports, const char *prefix) {
    for (size_t at = 0; at < exports->dynamic_count; at++) {
        const Elf64_Dyn *here = &exports->dynamic[at];
        if (here->d_tag == DT_NEEDED && here->d_un.d_val < exports->dynamic_names_bytes &&
            strncmp(exports->dynamic_names + here->d_un.d_val, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

bool fp_exports_file(const char *name, char *path, size_t capacity) {
    const char *const names[] = { name, NULL };
    struct fp_library_list list = { 0 };
    if (strchr(name, '/'))
        return snprintf(path, capacity, "%s", name) < (int)capacity;
    for (size_t nth = 0; fp_library_loaded(name, nth, path, capacity); nth++)
        if (strcmp(strrchr(path, '/') + 1, name) == 0)
            return true;
    fp_library_list_add_folders(&list, getenv("LD_LIBRARY_PATH"), names);
    bool found = list.count > 0 && snprintf(path, capacity, "%s", list.paths[0]) < (int)capacity;
    fp_library_list_free(&list);
    return found;
}
