@testable import LMDB

/// What a cursor has to do, over a dictionary of numbers to the lengths of their values.
struct CursorModel {
    /// The position of the cursor: on a key, in the gap where a key was deleted, or at an end.
    enum Position {
        case start
        case entry(Int)
        case gap(Int)
        case end
    }

    var entries: [Int: Int] = [:]
    var position = Position.start
    /// The key under the cursor, if it stands on an entry.
    var current: Int? {
        if case .entry(let key) = position { key } else { nil }
    }

    mutating func next() {
        switch position {
        case .start: go(to: entries.keys.min(), or: .start)
        case .entry(let at), .gap(let at):
            go(to: entries.keys.filter { $0 > at }.min(), or: .end)
        case .end: break
        }
    }

    mutating func previous() {
        switch position {
        case .end: go(to: entries.keys.max(), or: .end)
        case .entry(let at), .gap(let at):
            go(to: entries.keys.filter { $0 < at }.max(), or: .start)
        case .start: break
        }
    }

    mutating func seek(atOrAfter key: Int) {
        go(to: entries.keys.filter { $0 >= key }.min(), or: .end)
    }

    mutating func seek(exactly key: Int) {
        go(to: entries[key] == nil ? nil : key, or: .start)
    }

    private mutating func go(to key: Int?, or end: Position) {
        position = key.map { .entry($0) } ?? end
    }
}
