/// The nodes of a branch or leaf page, as far as they can be read. See ``PageWalk`` for the bytes.
struct TreePage {
    struct Node {
        let flags: UInt16
        /// The size of the value, or the low half of a child's number.
        let low: UInt32
        let key: Range<Int>
        /// What the page holds of the value.
        let stored: Range<Int>

        /// The page below, on a branch page.
        var child: Int { Int(low) | Int(flags) << 32 }
    }

    let number: Int
    let bytes: [UInt8]
    let isLeaf: Bool
    private(set) var nodes: [Node] = []
    /// What is wrong first; nil if nothing is.
    private(set) var problem: String?
    /// Whether it says that it is another page: it may be an old one.
    let isMisplaced: Bool

    /// Reads a page.
    ///
    /// - Parameter isLeaf: What it should be; if it says something else, that is a problem.
    init(_ bytes: [UInt8], number: Int, isLeaf: Bool) {
        self.bytes = bytes
        self.number = number
        let flags = bytes[...].integer(at: 10, as: UInt16.self)
        let expected = isLeaf ? PageWalk.Flag.leaf : PageWalk.Flag.branch
        let other = isLeaf ? PageWalk.Flag.branch : PageWalk.Flag.leaf
        isMisplaced = bytes[...].integer(at: 0, as: UInt64.self) != UInt64(number)
        self.isLeaf = flags == other ? !isLeaf : isLeaf
        if flags != expected { problem = "is not the \(isLeaf ? "leaf" : "branch") it should be" }
        if isMisplaced { problem = problem ?? "has another number" }
        readNodes()
    }

    private mutating func readNodes() {
        let header = PageWalk.headerBytes
        let lower = Int(bytes[...].integer(at: 12, as: UInt16.self))
        let upper = Int(bytes[...].integer(at: 14, as: UInt16.self))
        let isPlausible = lower > header && lower <= upper && upper <= bytes.count && lower % 2 == 0
        if !isPlausible { problem = problem ?? "says that its entries are where they can't be" }
        var position = header
        var used = 0
        // If the header is wrong, offsets are read as long as they can be some.
        while isPlausible ? position < lower : position + 2 <= bytes.count {
            let offset = Int(bytes[...].integer(at: position, as: UInt16.self))
            position += 2
            let start = isPlausible ? upper : position
            guard offset >= start, offset % 2 == 0,
                offset + PageWalk.nodeHeaderBytes <= bytes.count
            else {
                if !isPlausible { return }
                problem = problem ?? "has an entry that is not on it"
                continue
            }
            guard let node = node(at: offset) else {
                problem = problem ?? "has an entry that leaves it"
                continue
            }
            nodes.append(node)
            used += (node.stored.upperBound - offset + 1) & ~1
        }
        if isPlausible, used != bytes.count - upper {
            problem = problem ?? "has entries that don't fill the room they take"
        }
    }

    private func node(at offset: Int) -> Node? {
        let slice = bytes[offset...]
        let low = slice.integer(at: 0, as: UInt32.self)
        let flags = slice.integer(at: 4, as: UInt16.self)
        let start = offset + PageWalk.nodeHeaderBytes
        let keyEnd = start + Int(slice.integer(at: 6, as: UInt16.self))
        guard keyEnd <= bytes.count else { return nil }
        guard isLeaf else {
            return Node(flags: flags, low: low, key: start..<keyEnd, stored: keyEnd..<keyEnd)
        }
        let isElsewhere = flags & PageWalk.Flag.nodeOverflow != 0
        let end = keyEnd + (isElsewhere ? 8 : Int(low))
        guard end <= bytes.count else { return nil }
        return Node(flags: flags, low: low, key: start..<keyEnd, stored: keyEnd..<end)
    }

    /// The key of a node.
    func key(_ node: Node) -> ArraySlice<UInt8> { bytes[node.key] }
}
