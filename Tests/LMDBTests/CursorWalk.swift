import Testing

@testable import LMDB

/// Random steps of a cursor and of writes beside it, compared with a model.
struct CursorWalk {
    private let database: Database
    private let keyBytes: Int
    private var random: SeededGenerator
    private(set) var model = CursorModel()

    init(seed: Int, database: Database) {
        self.database = database
        // Few and many keys to a page.
        keyBytes = [2, 40, 300][seed % 3]
        random = SeededGenerator(seed: UInt64(seed))
    }

    /// - Parameters:
    ///   - steps: Their number; a walk may go on in another transaction, from before the first entry.
    ///   - writes: Whether anything is changed.
    mutating func run(_ access: Access, steps: Range<Int> = 0..<3000, writes: Bool = true) throws {
        model.position = .start
        try access.withCursor(in: database) { cursor throws in
            for step in steps {
                // More writes in the beginning, later more deletions.
                let kinds = writes ? (step < 800 ? 14 : 10) : 5
                let kind = Int.random(in: 0..<kinds, using: &random)
                guard let found = try move(&cursor, kind) else {
                    try change(&cursor, access, kind)
                    continue
                }
                try #require(found == (model.current != nil), "step \(step)")
                guard let key = model.current else { continue }
                let (seen, length) = (number(cursor.key), cursor.value.count)
                try #require(seen == key, "step \(step)")
                try #require(length == model.entries[key], "step \(step)")
            }
        }
        let count = try access.count(of: database)
        try #require(count == model.entries.count)
    }

    /// Moves the cursor; `nil` if the kind of step isn't a move.
    private mutating func move(_ cursor: inout Cursor, _ kind: Int) throws -> Bool? {
        switch kind {
        case 0, 1:
            model.next()
            return try cursor.next()
        case 2:
            model.previous()
            return try cursor.previous()
        case 3:
            let chosen = anyKey()
            model.seek(atOrAfter: chosen)
            return try key(chosen).withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
        case 4:
            let chosen = anyKey()
            model.seek(exactly: chosen)
            return try key(chosen).withUnsafeBytes { try cursor.seek(exactly: $0) }
        default: return nil
        }
    }

    private mutating func change(
        _ cursor: inout Cursor, _ access: Access, _ kind: Int
    ) throws {
        switch kind {
        case 5, 6, 7:
            guard let at = model.current, model.entries[at] != nil else { return }
            // Others may have written since the last move; the key is valid only after a move.
            let found = try key(at).withUnsafeBytes { try cursor.seek(exactly: $0) }
            try #require(found)
            try cursor.delete()
            model.entries[at] = nil
            model.position = .gap(at)
        case 8:
            let chosen = anyKey()
            let found = try access.delete(key(chosen), in: database)
            try #require(found == (model.entries[chosen] != nil))
            model.entries[chosen] = nil
        default:
            let chosen = anyKey()
            let length = Int.random(in: 0..<300, using: &random)
            try access.put(key(chosen), [UInt8](repeating: 1, count: length), in: database)
            model.entries[chosen] = length
        }
    }

    private mutating func anyKey() -> Int { Int.random(in: 0..<600, using: &random) }

    private func key(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 9, count: keyBytes - 2)
    }

    private func number(_ key: UnsafeRawBufferPointer) -> Int { Int(key[0]) << 8 | Int(key[1]) }
}
