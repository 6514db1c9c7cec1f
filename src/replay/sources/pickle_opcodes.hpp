// The opcodes of pickles (protocols 0 to 5): those that the reader carries out, and the names of all others, so that a
// refusal can say what it refuses.
#pragma once

#include <cstdint>
#include <string_view>

namespace cistern::replay {

enum class Opcode : std::uint8_t {
  mark = '(',
  stop = '.',
  none = 'N',
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  bin_float = 'G',
  bin_unicode = 'X',
  append = 'a',
  appends = 'e',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_put = 'q',
  long_bin_put = 'r',
  set_item = 's',
  set_items = 'u',
  dict = 'd',
  list = 'l',
  tuple = 't',
  empty_dict = '}',
  empty_list = ']',
  empty_tuple = ')',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8a,
  short_bin_unicode = 0x8c,
  bin_unicode8 = 0x8d,
  memoize = 0x94,
  frame = 0x95,
};

// The name of an opcode that is not carried out, as Python's pickletools spells it; empty if there is none.
constexpr std::string_view refused_opcode_name(std::uint8_t code) noexcept {
  struct Named {
    std::uint8_t code;
    std::string_view name;
  };
  constexpr Named kNames[] = {{'0', "POP"},
                              {'1', "POP_MARK"},
                              {'2', "DUP"},
                              {'F', "FLOAT"},
                              {'I', "INT"},
                              {'L', "LONG"},
                              {'P', "PERSID"},
                              {'Q', "BINPERSID"},
                              {'R', "REDUCE"},
                              {'S', "STRING"},
                              {'T', "BINSTRING"},
                              {'U', "SHORT_BINSTRING"},
                              {'V', "UNICODE"},
                              {'b', "BUILD"},
                              {'c', "GLOBAL"},
                              {'g', "GET"},
                              {'i', "INST"},
                              {'o', "OBJ"},
                              {'p', "PUT"},
                              {'B', "BINBYTES"},
                              {'C', "SHORT_BINBYTES"},
                              {0x81, "NEWOBJ"},
                              {0x82, "EXT1"},
                              {0x83, "EXT2"},
                              {0x84, "EXT4"},
                              {0x8b, "LONG4"},
                              {0x8e, "BINBYTES8"},
                              {0x8f, "EMPTY_SET"},
                              {0x90, "ADDITEMS"},
                              {0x91, "FROZENSET"},
                              {0x92, "NEWOBJ_EX"},
                              {0x93, "STACK_GLOBAL"},
                              {0x96, "BYTEARRAY8"},
                              {0x97, "NEXT_BUFFER"},
                              {0x98, "READONLY_BUFFER"}};
  for (const Named& named : kNames) {
    if (named.code == code) return named.name;
  }
  return {};
}

}  // namespace cistern::replay
