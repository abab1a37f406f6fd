// options.c - reads the command line by tables: the shared groups and the verb's own rows.
//
// In:  argv.
// Out: struct fp_options, or the help, or one sentence about what was not understood.

#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"

#define HELP_WIDTH 100
#define HELP_COLUMN 24

struct shared_option {
    unsigned group;
    const char *name, *value, *help;
    int (*set)(struct fp_options *options, const char *value);
};

static int set_format(struct fp_options *options, const char *value) {
    static const char *names[] = {
        [FP_FORMAT_TABLE] = "table", [FP_FORMAT_CSV] = "csv", [FP_FORMAT_JSON] = "json"
    };
    for (int i = 0; i < 3; i++)
        if (strcmp(value, names[i]) == 0) {
            options->format = (enum fp_format)i;
            return 0;
        }
    return -EINVAL;
}

static int set_unit(struct fp_options *options, const char *value) {
    static const char *names[] = { "auto", "ns", "us", "ms", "s" };
    for (int i = 0; i < 5; i++)
        if (strcmp(value, names[i]) == 0) {
            options->unit = (enum fp_unit)i;
            return 0;
        }
    return -EINVAL;
}

static int set_output(struct fp_options *options, const char *value) {
    options->output = value;
    return *value ? 0 : -EINVAL;
}

static int set_salvage(struct fp_options *options, const char *value) {
    (void)value;
    options->salvage = true;
    return 0;
}

static int set_threads(struct fp_options *options, const char *value) {
    if (strcmp(value, "1") != 0 && strcmp(value, "2") != 0)
        return -EINVAL;
    options->threads = value[0] - '0';
    return 0;
}

#define SELECT_SETTER(field)                                                                                 \
    static int set_##field(struct fp_options *options, const char *value) {                                  \
        options->select.field = value;                                                                       \
        return *value ? 0 : -EINVAL;                                                                         \
    }
SELECT_SETTER(from)
SELECT_SETTER(to)
SELECT_SETTER(pid)
SELECT_SETTER(device)
SELECT_SETTER(step)
SELECT_SETTER(include)
SELECT_SETTER(exclude)

static const struct shared_option shared_options[] = {
    { FP_GROUP_OUTPUT, "output", "FILE",
      "Write to FILE; \"-\" is standard output. It appears whole or not at all.", set_output },
    { FP_GROUP_FORMAT, "format", "table|csv|json", "What is printed. Default: table.", set_format },
    { FP_GROUP_FORMAT, "unit", "auto|ns|us|ms|s", "Unit of times in tables. CSV and JSON are always in ns.",
      set_unit },
    { FP_GROUP_SELECT, "include", "REGEX", "Only events whose name matches (extended regular expression).",
      set_include },
    { FP_GROUP_SELECT, "exclude", "REGEX", "No events whose name matches.", set_exclude },
    { FP_GROUP_SELECT, "from", "TIME",
      "Only what ends after TIME: 1.5ms, 20us, 3s after the trace's first event, always with its unit; "
      "@123.456 is a ts as the file has it.",
      set_from },
    { FP_GROUP_SELECT, "to", "TIME", "Only what begins before TIME.", set_to },
    { FP_GROUP_SELECT, "pid", "LIST", "Only these processes, as the file numbers or names them: 596,0.",
      set_pid },
    { FP_GROUP_SELECT, "device", "LIST",
      "No work of devices other than these, nor the calls that launched it: 0 or 0-3,7.", set_device },
    { FP_GROUP_SELECT, "step", "LIST",
      "Only these steps (ProfilerStep#N), with the work that they launched: 5 or 5-7.", set_step },
    { FP_GROUP_READ, "salvage", NULL,
      "Read what can be read of a broken file, and say what was lost and where.", set_salvage },
    { FP_GROUP_READ, "threads", "1|2", "Threads that read. Default: 2 where the file is worth it.",
      set_threads },
};

#define SHARED_COUNT (sizeof(shared_options) / sizeof(*shared_options))

void fp_say(const char *verb, const char *format, ...) {
    char sentence[1024], shown[4200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    fp_text_show(fp_text_of(sentence), shown, sizeof(shown));
    size_t size = strlen(shown);
    fprintf(stderr, "flagprof %s: %s%s\n", verb, shown, size && strchr(".!?", shown[size - 1]) ? "" : ".");
}

int fp_say_usage(const struct fp_usage *usage, const char *format, ...) {
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    fp_say(usage->verb, "%s", sentence);
    fprintf(stderr, "usage: flagprof %s %s\n", usage->verb, usage->synopsis);
    return FP_EXIT_CANNOT;
}

// Help.

static void print_wrapped(const char *text, size_t column) {
    size_t used = column;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (used > column && used + 1 + word > HELP_WIDTH) {
            printf("\n%*s", (int)column, "");
            used = column;
        }
        used += (size_t)printf("%s%.*s", used > column ? " " : "", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    printf("\n");
}

static void print_option(const char *name, const char *value, const char *help) {
    int used = printf("  %s--%s%s%s", strcmp(name, "output") == 0 ? "-o, " : "", name, value ? " " : "",
                      value ? value : "");
    if (used > HELP_COLUMN - 2)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - used, "");
    print_wrapped(help, HELP_COLUMN);
}

static void print_help(const struct fp_usage *usage) {
    printf("flagprof %s - %s\n\nusage: flagprof %s %s\n\n%s\noptions:\n", usage->verb, usage->summary,
           usage->verb, usage->synopsis, usage->text);
    for (const struct fp_option *own = usage->own; own && own->name; own++)
        print_option(own->name, own->value, own->help);
    for (size_t i = 0; i < SHARED_COUNT; i++)
        if (shared_options[i].group & usage->groups)
            print_option(shared_options[i].name, shared_options[i].value, shared_options[i].help);
    print_option("help", NULL, "This text.");
    printf("\nexamples:\n%s\nexit status: %s\n", usage->examples, usage->exit_status);
}

// One option of the command line, whichever table it stands in.
struct found {
    const struct fp_option *own;
    const struct shared_option *shared;
    bool takes_value;
};

static bool find_option(const struct fp_usage *usage, const char *name, size_t size, struct found *found) {
    *found = (struct found){ 0 };
    for (const struct fp_option *own = usage->own; own && own->name; own++)
        if (strlen(own->name) == size && memcmp(own->name, name, size) == 0) {
            found->own = own;
            found->takes_value = own->value != NULL;
            return true;
        }
    for (size_t i = 0; i < SHARED_COUNT; i++) {
        const struct shared_option *shared = &shared_options[i];
        if ((shared->group & usage->groups) && strlen(shared->name) == size &&
            memcmp(shared->name, name, size) == 0) {
            found->shared = shared;
            found->takes_value = shared->value != NULL;
            return true;
        }
    }
    return false;
}

static int add_text(struct fp_text_list *list, const char *text) {
    const char **grown = realloc(list->texts, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    list->texts = grown;
    list->texts[list->count++] = text;
    return 0;
}

void fp_text_list_free(struct fp_text_list *list) {
    free(list->texts);
    *list = (struct fp_text_list){ 0 };
}

static int set_number(int64_t *number, const char *value) {
    char *end;
    errno = 0;
    long long parsed = strtoll(value, &end, 10);
    if (errno || *end || end == value || parsed < 0 || !isdigit((unsigned char)value[0]))
        return -EINVAL;
    *number = parsed;
    return 0;
}

static int apply(const struct found *found, const char *value, struct fp_options *options) {
    if (found->shared)
        return found->shared->set(options, value);
    if (found->own->flag)
        *found->own->flag = true;
    else if (found->own->text)
        *found->own->text = value;
    else if (found->own->number)
        return value ? set_number(found->own->number, value) : -EINVAL;
    else if (found->own->list)
        return add_text(found->own->list, value);
    else if (found->own->mark)
        *found->own->mark = (int64_t)options->path_count;
    return 0;
}

// argv[at] begins with a dash. Sets *used to how many arguments it took. -1: go on; else the exit status.
static int read_option(int argc, char **argv, int at, const struct fp_usage *usage,
                       struct fp_options *options, int *used) {
    const char *text = argv[at], *name = text + 2, *value = NULL;
    struct found found;
    size_t size;
    *used = 1;
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
        print_help(usage);
        return FP_EXIT_OK;
    }
    if (text[1] != '-') {
        name = text[1] == 'o' ? "output" : "";
        size = strlen(name);
        value = text[2] ? text + 2 : NULL;
    } else {
        size = strcspn(name, "=");
        value = name[size] ? name + size + 1 : NULL;
    }
    if (!find_option(usage, name, size, &found)) {
        fp_say(usage->verb, "there is no option '%s'. `flagprof %s --help` lists them", text, usage->verb);
        return FP_EXIT_CANNOT;
    }
    if (found.takes_value && !value) {
        if (at + 1 >= argc) {
            fp_say(usage->verb, "%s needs a value: --%s %s", text, name,
                   found.own ? found.own->value : found.shared->value);
            return FP_EXIT_CANNOT;
        }
        value = argv[at + 1];
        *used = 2;
    }
    if (!found.takes_value && value) {
        fp_say(usage->verb, "--%.*s takes no value", (int)size, name);
        return FP_EXIT_CANNOT;
    }
    int code = apply(&found, value, options);
    if (code)
        fp_say(usage->verb, "--%.*s cannot be '%s'; it is %s", (int)size, name, value ? value : "",
               found.own ? found.own->value : found.shared->value);
    return code ? FP_EXIT_CANNOT : -1;
}

int fp_options_parse(int argc, char **argv, const struct fp_usage *usage, struct fp_options *options) {
    bool over = false;
    memset(options, 0, sizeof(*options));
    options->select.size = sizeof(options->select);
    options->paths = argv + 1; // paths move to the front as they are found
    for (int at = 1, used; at < argc; at += used) {
        used = 1;
        if (over || argv[at][0] != '-' || !argv[at][1]) {
            options->paths[options->path_count++] = argv[at];
        } else if (strcmp(argv[at], "--") == 0) {
            over = true;
        } else {
            int status = read_option(argc, argv, at, usage, options, &used);
            if (status >= 0)
                return status;
        }
    }
    if (options->path_count < usage->least_paths)
        return fp_say_usage(usage, usage->least_paths == 1 ? "which file?" : "too few files");
    if (usage->most_paths && options->path_count > usage->most_paths)
        return fp_say_usage(usage, "too many files: '%s'", options->paths[usage->most_paths]);
    return -1;
}

bool fp_options_report(const struct fp_options *options, const char *verb, const struct fp_report *report,
                       bool to_output) {
    struct fp_error err = { "" };
    struct fp_output *output;
    struct fp_output_options plain = { sizeof(plain), FP_PACKING_PLAIN + 1, 0 };
    const char *path = to_output && options->output ? options->output : "-";
    int code = fp_output_open(path, &plain, &output, &err);
    if (!code) {
        code = fp_report_write(report, output, options->format, options->unit);
        if (code && !fp_output_state(output)) {
            fp_error_set(&err, "not enough memory for the report");
            fp_output_abort(output);
        } else {
            code = fp_output_commit(output, &err);
        }
    }
    if (code)
        fp_say(verb, "%s", err.text);
    return code == 0;
}
