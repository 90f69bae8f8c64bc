/// Cuts bytes that arrive in chunks into lines, and holds no more of one than is allowed.
package struct LineSplitter {
    /// A line without its end, or one that is too long to be held.
    package enum Line: Hashable, Sendable {
        case whole([UInt8])
        case tooLong
    }

    private let bytesMax: Int
    private var current: [UInt8] = []
    private var isTooLong = false
    private var hasStarted = false

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Takes a chunk, and calls `body` with each line that ends in it.
    package mutating func take(_ chunk: [UInt8], _ body: (Line) throws -> Void) rethrows {
        var rest = chunk[...]
        while let end = rest.firstIndex(of: 0x0A) {
            add(rest[..<end])
            rest = rest[(end + 1)...]
            try body(takeLine())
        }
        add(rest)
    }

    /// The last line, if no line end follows it; nil if all lines have ended.
    package mutating func finish() -> Line? { hasStarted ? takeLine() : nil }

    private mutating func add(_ bytes: ArraySlice<UInt8>) {
        if !bytes.isEmpty { hasStarted = true }
        if isTooLong || current.count + bytes.count > bytesMax {
            isTooLong = true
            current = []
        } else {
            current += bytes
        }
    }

    private mutating func takeLine() -> Line {
        defer {
            current = []
            isTooLong = false
            hasStarted = false
        }
        return isTooLong ? .tooLong : .whole(current)
    }
}
