#include "trace/elf_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace cistern::trace {
namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;

class File {
 public:
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool read(std::uint64_t offset, void* out, std::uint64_t bytes) const {
    auto* to = static_cast<char*>(out);
    while (bytes > 0) {
      const ssize_t count = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
      if (count <= 0) return false;
      to += count;
      offset += static_cast<std::uint64_t>(count);
      bytes -= static_cast<std::uint64_t>(count);
    }
    return true;
  }

  template <typename Entry>
  std::vector<Entry> table(std::uint64_t offset, std::uint64_t bytes) const {
    if (bytes > kMaxTableBytes || bytes < sizeof(Entry)) return {};
    // Ask for the last byte before taking memory for all of them: sizes in a damaged file are anything.
    char last = 0;
    if (!read(offset + bytes - 1, &last, 1)) return {};
    std::vector<Entry> entries(bytes / sizeof(Entry));
    if (!read(offset, entries.data(), entries.size() * sizeof(Entry))) entries.clear();
    return entries;
  }

 private:
  int descriptor_;
};

const Elf64_Shdr* best_table(const std::vector<Elf64_Shdr>& sections) {
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == type && section.sh_link < sections.size()) return &section;
    }
  }
  return nullptr;
}

}  // namespace

ElfSymbols::ElfSymbols(const std::string& path) {
  const File file(path);
  Elf64_Ehdr header;
  if (!file.read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return;
  }
  const auto sections = file.table<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  const Elf64_Shdr* const chosen = best_table(sections);
  if (chosen == nullptr) return;
  const Elf64_Shdr& texts = sections[chosen->sh_link];
  const auto characters = file.table<char>(texts.sh_offset, texts.sh_size);
  names_.assign(characters.begin(), characters.end());
  names_.push_back('\0');
  for (const Elf64_Sym& symbol : file.table<Elf64_Sym>(chosen->sh_offset, chosen->sh_size)) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names_.size()) continue;
    symbols_.push_back({symbol.st_value, symbol.st_size, symbol.st_name});
  }
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& left, const Symbol& right) {
    return left.begin != right.begin ? left.begin < right.begin : left.bytes < right.bytes;
  });
}

ElfSymbols::Found ElfSymbols::find(std::uint64_t address) const noexcept {
  const auto above = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](std::uint64_t value, const Symbol& each) { return value < each.begin; });
  if (above == symbols_.begin()) return {};
  const Symbol& symbol = *(above - 1);
  if (symbol.bytes != 0 && address - symbol.begin >= symbol.bytes) return {};
  return {std::string_view(names_.c_str() + symbol.name), address - symbol.begin};
}

}  // namespace cistern::trace
