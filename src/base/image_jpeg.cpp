// JPEG by libjpeg-turbo, whose inverse transform and chroma upsampling are what ONNX describes.
// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs size_t and FILE before it.
#include <jpeglib.h>
// It needs jpeglib.h before it.
#include <jerror.h>

#include <cstring>

#include "base/image_formats.h"

namespace stoker {

namespace {

// A file of more scans than this only wastes time.
constexpr int kMaxScans = 500;

// The error handler of one decoding; the library's structs come first so that the library's
// pointers to them lead here.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX] = {};
  bool ended_early = false;
};
struct Progress {
  jpeg_progress_mgr manager;
  Errors* errors;
};

[[noreturn]] void on_error(j_common_ptr info) {
  Errors* errors = reinterpret_cast<Errors*>(info->err);
  errors->manager.format_message(info, errors->message);
  std::longjmp(errors->back, 1);
}

void on_message(j_common_ptr info, int level) {
  Errors* errors = reinterpret_cast<Errors*>(info->err);
  if (level < 0 && errors->manager.msg_code == JWRN_JPEG_EOF) errors->ended_early = true;
}

void on_progress(j_common_ptr info) {
  if (!info->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  Errors* errors = reinterpret_cast<Progress*>(info->progress)->errors;
  std::memcpy(errors->message, "too many scans", sizeof("too many scans"));
  std::longjmp(errors->back, 1);
}

// Decoding in two steps. The functions that call the library hold no objects with destructors,
// since errors jump over their frames.
struct Decoding {
  jpeg_decompress_struct info = {};
  Errors errors;
  Progress progress;

  Decoding() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = on_error;
    errors.manager.emit_message = on_message;
    errors.manager.output_message = [](j_common_ptr) {};
    progress.errors = &errors;
    progress.manager = {};
    progress.manager.progress_monitor = on_progress;
  }
  ~Decoding() { jpeg_destroy_decompress(&info); }
  Decoding(const Decoding&) = delete;

  bool read_header(const uint8_t* data, size_t size) {
    if (setjmp(errors.back)) return false;
    jpeg_create_decompress(&info);
    info.progress = &progress.manager;
    jpeg_mem_src(&info, data, size);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_calc_output_dimensions(&info);
    return true;
  }

  // `line` holds one row of the output.
  bool read_pixels(uint8_t* line, uint8_t* rgb) {
    if (setjmp(errors.back)) return false;
    jpeg_start_decompress(&info);
    const size_t width = info.output_width;
    while (info.output_scanline < info.output_height) {
      uint8_t* row = rgb + info.output_scanline * width * 3;
      uint8_t* target = info.output_components == 3 ? row : line;
      if (jpeg_read_scanlines(&info, &target, 1) != 1) return false;
      if (target == line) from_cmyk(line, row, width);
    }
    jpeg_finish_decompress(&info);
    return !errors.ended_early;
  }

  // Adobe's files hold inverted inks.
  void from_cmyk(const uint8_t* line, uint8_t* row, size_t width) const {
    const int flip = info.saw_Adobe_marker ? 0 : 255;
    for (size_t i = 0; i < width; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        row[i * 3 + k] =
            static_cast<uint8_t>((line[i * 4 + k] ^ flip) * (line[i * 4 + 3] ^ flip) / 255);
      }
    }
  }

  Status failed() const {
    return corrupt_file("JPEG image: {}", errors.message[0]    ? errors.message
                                          : errors.ended_early ? "it ends before its last pixel"
                                                               : "it cannot be decoded");
  }
};

}  // namespace

Result<Image> decode_jpeg(ImageBytes bytes) {
  Decoding decoding;
  if (!decoding.read_header(bytes.data(), bytes.size())) return decoding.failed();
  STOKER_ASSIGN(Image image, make_image(decoding.info.output_width, decoding.info.output_height));
  std::vector<uint8_t> line(static_cast<size_t>(image.width) * 4);
  if (!decoding.read_pixels(line.data(), image.rgb.data())) return decoding.failed();
  return image;
}

}  // namespace stoker
