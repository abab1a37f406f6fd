// faces.h - libraries that offer CUPTI's functions and are not NVIDIA's: whose is this one?
//
// In:  a library, opened or read as a file, and where it lies.
// Out: the accelerator that it belongs to, told by a function of the vendor's own that it or what it is
//      linked to exports (of a file: by the name of what it is linked to), by its file's name, or by the SDK
//      that it lies in. CUPTI's spellings tell nothing: MetaX's bridge and T-Head's face have them too [CODE].
#ifndef FP_TRACERS_FACES_H
#define FP_TRACERS_FACES_H

struct fp_exports;

// "ppu", "metax"; NULL: no such face, so NVIDIA's or a library of another interface. `path` may be NULL.
const char *fp_face_of(void *handle, const char *path);
const char *fp_face_of_file(const struct fp_exports *exports, const char *path);

#endif
