/// The entries of several databases in the order of their keys, as if they were in one; no key is in two of them.
package struct MergedEntries {
    private final class Source {
        var cursor: Cursor
        var isThere: Bool

        init(_ access: Access, _ database: Database) throws {
            cursor = try Cursor(access, in: database)
            isThere = try cursor.first()
        }
    }

    private let sources: [Source]
    /// The one with the least key; nil behind the last.
    private var least: Source?

    /// Stands on the first entry, if there is one.
    package init(_ databases: [(access: Access, database: Database)]) throws {
        sources = try databases.map { try Source($0.access, $0.database) }
        choose()
    }

    package var isOnEntry: Bool { least != nil }

    /// The key of the entry; as a cursor's, and so is the value.
    package var key: UnsafeRawBufferPointer { entry.key }
    package var value: UnsafeRawBufferPointer { entry.value }

    /// Moves to the next entry, or behind the last.
    ///
    /// - Complexity: O(*n*) in the number of databases.
    package mutating func next() throws {
        guard let least else { return }
        least.isThere = try least.cursor.next()
        choose()
    }

    private var entry: (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard let least else { preconditionFailure("There is no entry.") }
        return (least.cursor.key, least.cursor.value)
    }

    private mutating func choose() {
        least = nil
        for source in sources where source.isThere {
            if let known = least, OverlayEntry.order(known.cursor.key, source.cursor.key) < 0 {
                continue
            }
            least = source
        }
    }
}
