import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Entity struct JournalNote {
    var id = ID()
    var text: String
}

/// What the last version whose records of the journal had 64 KiB left behind when it was killed.
@Suite(.budgeted) struct JournalFormatTests {
    private static let fixture = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/journal-1").path
    /// The fixture has the beginning of it; zeros follow.
    private static let journalBytes = 4_202_496

    private let folder: TemporaryFolder
    private var journal: String { folder.store + "/journal" }

    init() throws {
        folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: Self.fixture, toPath: folder.store)
        let file = try FileHandle(forUpdating: URL(filePath: journal))
        try file.truncate(atOffset: UInt64(Self.journalBytes))
        try file.close()
    }

    private func magic() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: journal)).prefix(8))
    }

    @Test func `commits that wait in a journal of an earlier version are there`() throws {
        #expect(try magic() == Array("BSTJRNL1".utf8))
        let store = try Store.open(existing: folder.store)
        defer { store.close() }
        #expect(try store.read { try $0.count(of: "Contact") } == 1_055)
        #expect(try store.verify().problems == [])
    }

    @Test func `a store goes on with the journal of an earlier version`() async throws {
        for round in 1...2 {
            let store = try folder.open(StoreSchema(JournalNote.self))
            for number in 0..<20 {
                try await store.write { transaction in
                    let note = JournalNote(id: .named("\(round)-\(number)"), text: "kept")
                    try transaction.save(note)
                }
            }
            #expect(try store.read { try $0.count(JournalNote.self) } == round * 20)
            #expect(try store.read { try $0.count(of: "Contact") } == 1_055)
            try await store.expectConsistent()
            store.close()
        }
    }

    @Test func `a store without the journal of its last commits is refused`() throws {
        try FileManager.default.removeItem(atPath: journal)
        #expect(throws: StoreError.self) { try folder.open(StoreSchema(JournalNote.self)) }
    }
}
