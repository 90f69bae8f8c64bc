import Backstitch
import BackstitchTesting
import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

@Suite(.budgeted) struct CompactCommandTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Three notes with three operations each, and all but the last operation synced.
    private func fill() async throws {
        let store = try fixture.open()
        defer { store.close() }
        for round in 0..<3 {
            // Values that take some pages each, so that taking them out gives space back.
            for number in 0..<3 {
                try store.save("n\(number)", "Note \(number), \(round)", 20_000 + round)
            }
        }
        let engine = SyncEngine(
            store: store, service: SimulatedCloud().connection(device: "a"),
            configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
        _ = try await engine.sync()
        try store.save("n0", "Note 0, later")
    }

    private func object(_ text: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [String: Any])
    }

    @Test func `compact takes synced operations out`() async throws {
        try await fill()
        let before = try Runner.run("inspect", fixture.path).output
        #expect(before.contains("13 operations, the last is 13\n"))
        let result = try Runner.run("compact", fixture.path)
        #expect(result.code == 0)
        #expect(result.complaint.isEmpty)
        #expect(result.output.contains("9 operations taken out, 4 of 13 are left."))
        #expect(result.output.contains("of the disk; it was"))
        let after = try Runner.run("inspect", fixture.path).output
        #expect(after.contains("4 operations, the last is 13, compacted up to 12"))
        let verified = try Runner.run("verify", fixture.path)
        #expect(verified.code == 0, "\(verified.output)")
        #expect(try Runner.run("rebuild", fixture.path).output.contains("identical"))
        let log = try Runner.run("log", fixture.path).output
        #expect(log.contains("baseline"))
        #expect(log.contains("\"Note 1, 2\""))
    }

    @Test func `compact says why a log may have grown`() {
        #expect(CompactCommand.logText(2_048, 1_024) == "The log takes up 1.0 KiB; it was 2.0 KiB.")
        #expect(CompactCommand.logText(1_024, 2_048).contains("each holds a whole record"))
    }

    @Test func `compact writes one JSON object with its documented keys`() async throws {
        try await fill()
        let result = try Runner.run("compact", fixture.path, "--keep", "unsynced", "--json")
        let document = try object(result.output)
        #expect(
            document.keys.sorted() == [
                "allocatedBytesAfter", "allocatedBytesBefore", "bytesAfter", "bytesBefore",
                "compactedThrough", "operationsAfter", "operationsBefore", "removed",
                "returnedBytes", "returnsSpace", "store",
            ])
        #expect(document["removed"] as? Int == 9)
        #expect(document["operationsBefore"] as? Int == 13)
        #expect(document["operationsAfter"] as? Int == 4)
        #expect(document["returnsSpace"] as? Bool == true)
        let sizes = ["allocatedBytesBefore", "allocatedBytesAfter", "returnedBytes"]
        #expect(sizes.allSatisfy { document[$0] is Int })
        let again = try object(Runner.run("compact", fixture.path, "--json").output)
        #expect(again["removed"] as? Int == 0)
    }

    @Test func `what is not synced stays, and what the option wants`() async throws {
        try fixture.fill()
        let unsynced = try Runner.run("compact", fixture.path)
        #expect(unsynced.code == 0)
        #expect(unsynced.output.contains("Nothing can be removed: 3 operations stay."))
        let all = try object(Runner.run("compact", fixture.path, "--keep=all", "--json").output)
        #expect(all["removed"] as? Int == 0)
    }

    @Test func `a store that never syncs keeps one operation a record`() throws {
        let store = try Store(
            at: fixture.path, schema: StoreSchema(StoredNote.self),
            configuration: StoreConfiguration(syncs: false))
        for round in 1...4 { try store.save("n0", "Note \(round)", round) }
        store.close()
        let inspected = try Runner.run("inspect", fixture.path).output
        #expect(inspected.contains("none: the store never syncs. It would push 1 record"))
        let result = try Runner.run("compact", fixture.path)
        #expect(result.output.contains("2 operations taken out, 2 of 4 are left."))
        let again = try Runner.run("compact", fixture.path)
        #expect(
            again.output.contains(
                "Nothing can be removed: 2 operations stay. They hold the present"))
    }

    @Test(arguments: ["", "-1", "1.5", "some", "36501", "99999999999999999999"])
    func `another value of the option is refused`(value: String) throws {
        try fixture.fill()
        let image = try fixture.snapshot()["store/data.mdb"]
        let result = try Runner.run("compact", fixture.path, "--keep=" + value)
        #expect(result.code == 2)
        #expect(result.complaint.contains("a number of days from 0 to 36500"))
        #expect(try fixture.snapshot()["store/data.mdb"] == image)
    }

    @Test func `a path without a store is refused`() throws {
        let result = try Runner.run("compact", fixture.path)
        #expect(result.code == 2)
        #expect(!result.complaint.isEmpty)
    }

    @Test func `a damaged log is left alone`() async throws {
        try await fill()
        try fixture.damage { access, databases in
            guard let log = databases["log"] else { return }
            try access.change([0, 0, 0, 0, 0, 0, 0, 5], in: log) { $0[$0.count / 2] ^= 1 }
        }
        let result = try Runner.run("compact", fixture.path)
        #expect(result.code == 2)
        #expect(result.complaint.contains("Operation 5"))
    }
}
