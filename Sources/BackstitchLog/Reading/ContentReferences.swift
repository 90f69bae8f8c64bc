import BackstitchCore

/// Which operations name which contents. The index has all that the log has, so that a content which
/// undo, history or the conflict journal may need counts as referenced until compaction drops the
/// operation.
package struct ContentReferences {
    private let reader: TableReader

    package init(_ reader: TableReader) { self.reader = reader }

    /// Whether any operation names the content.
    package func isReferenced(_ key: ContentKey) throws -> Bool {
        var isThere = false
        try visit(key) { _ in
            isThere = true
            return false
        }
        return isThere
    }

    /// Visits the operations that name a content, from the first, until the closure returns false.
    package func visit(_ key: ContentKey, _ visit: (UInt64) throws -> Bool) throws {
        let prefix = [TableKey.contents] + key.bytes
        try unsafe TableEntries(reader, startingWith: prefix).visit { found, _ in
            try unsafe visit(TableKey.contentSequence(found))
        }
    }

    /// Visits the keys of all contents that are named, each once and in order, with the number of
    /// operations that name it, until the closure returns false.
    package func visitAll(_ visit: (ContentKey, Int) throws -> Bool) throws {
        var current: (key: ContentKey, count: Int)?
        var goesOn = true
        try unsafe TableEntries(reader, startingWith: [TableKey.contents]).visit { found, _ in
            let key = unsafe ContentKey(hash: Array(found.part(1..<(1 + ContentHash.byteCount))))
            if let known = current, known.key == key {
                current = (key, known.count + 1)
                return true
            }
            if let known = current { goesOn = try visit(known.key, known.count) }
            current = (key, 1)
            return goesOn
        }
        if goesOn, let known = current { _ = try visit(known.key, known.count) }
    }
}
