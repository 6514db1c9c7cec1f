// The inventories of the runtime, in the order in which things end: what uses memory and streams before those, blocks
// before the contexts whose pools they are in.
#pragma once

namespace cistern::acl {

class Runtime;

void add_inventories(Runtime* runtime);

}  // namespace cistern::acl
