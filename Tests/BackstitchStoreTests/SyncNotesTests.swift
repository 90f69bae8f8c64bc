import BackstitchCore
import BackstitchLog
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct SyncNotesTests {
    private static let kinds = [
        SyncNotes.seen, .missed, .unheard, .sent, .incomplete, .undelivered, .duplicate,
    ]

    /// The names of entries of `meta` that begin with what notes begin with, checksums included.
    private static func names(_ reader: TableReader) throws -> [String] {
        var names: [String] = []
        for prefix in kinds.flatMap({ [$0.prefix, MetaChecksum.name(of: $0.prefix)] }) {
            try reader.meta.visit(prefix) { name, _ in
                names.append(prefix + name)
                return true
            }
        }
        return names
    }

    @Test func `notes that are all taken away leave nothing, checksums included`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.withLogWriter { log in
            for kind in Self.kinds {
                try log.note(kind, RecordName("a"), [1])
                try log.note(kind, RecordName("b"), [2])
            }
        }
        // A full fetch marks thousands: marks have no checksum.
        #expect(try store.read { try Self.names($0.reader) }.count == 26)
        try await store.withLogWriter { log in
            #expect(try log.noted(.missed, RecordName("a")) == [1])
            for kind in Self.kinds {
                try log.forgetNotes(kind)
                #expect(try log.noted(kind, RecordName("a")) == nil)
            }
        }
        #expect(try store.read { try Self.names($0.reader) }.isEmpty)
    }

    @Test func `a note of one kind is none of another, and goes alone`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await store.withLogWriter { log in
            try log.note(.missed, RecordName("a"), [1])
            try log.note(.missed, RecordName("b"), [2])
            #expect(try !log.mayHaveNotes(.unheard))
            try log.forgetNote(.unheard, RecordName("a"))
            try log.forgetNote(.missed, RecordName("a"))
            #expect(try log.noted(.missed, RecordName("a")) == nil)
            #expect(try log.noted(.missed, RecordName("b")) == [2])
        }
        #expect(try store.read { try $0.reader.meta.hasNotes(.missed) })
    }
}
