import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import LMDB
import TestBudget
import Testing

/// Records that are erased on a device, and what the service and others have of them.
@Suite(.budgeted) struct ErasingSyncTests {
    let cloud = SimulatedCloud()
    private let secret = "qvxzj"

    private func holdsSecret(_ device: Device) throws -> Bool {
        let secret = Data(secret.utf8)
        return try device.store.environment.read { transaction in
            for database in transaction.access.all(of: device.store.databases) {
                let isThere = try transaction.access.withCursor(in: database) { cursor in
                    while try cursor.next() {
                        if Data(cursor.key).range(of: secret) != nil { return true }
                        if Data(cursor.value).range(of: secret) != nil { return true }
                    }
                    return false
                }
                if isThere { return true }
            }
            return false
        }
    }

    @Test func `the service keeps a record that is erased here alone`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", secret)
        try await phone.sync()
        try await phone.store.erase(Note.ID("a"))
        #expect(try !holdsSecret(phone))
        #expect(try await phone.sync().pushedRecords == 0)
        #expect(try phone.titles().isEmpty)
        try await phone.expectSettled()
        #expect(remote(cloud) == ["Note a {title: \(secret)}"])
        // A newer version comes as to any device.
        try cloud.editNote(["title": .string("newer")])
        try await phone.sync()
        #expect(try phone.titles() == ["a": "newer"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `the service deletes a record that is erased there too`() async throws {
        let (phone, tablet) = (try Device(cloud), try Device(cloud, "tablet"))
        try await phone.note("a", secret)
        try await phone.sync()
        try await tablet.sync()
        try await phone.store.erase(Note.ID("a"), deletesOnService: true)
        #expect(try !holdsSecret(phone))
        #expect(try phone.engine.pending().pendingRecords == 1)
        #expect(try await !phone.store.revert(Note.ID("a")))
        #expect(try await phone.store.revertAll() == 0)
        #expect(try await phone.sync().pushedRecords == 1)
        #expect(remote(cloud).isEmpty)
        try await tablet.sync()
        #expect(try tablet.titles().isEmpty)
        // The other device has it in its log, until it is erased there as well.
        #expect(try holdsSecret(tablet))
        #expect(try await tablet.store.erase(Note.ID("a")) == 2)
        #expect(try !holdsSecret(tablet))
        try await phone.expectEqualToFresh(cloud)
        try await tablet.expectSettled()
    }

    @Test func `a record of which the service lacks changes is not erased`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", secret)
        for deletesOnService in [false, true] {
            let error = await #expect(throws: StoreError.self) {
                try await phone.store.erase(Note.ID("a"), deletesOnService: deletesOnService)
            }
            #expect(error?.code == .unsynced)
        }
        #expect(try phone.titles() == ["a": secret])
        // A delete that is still to be pushed needs no values.
        try await phone.sync()
        try await phone.delete(Note.ID("a"))
        #expect(try await phone.store.erase(Note.ID("a")) > 0)
        #expect(try !holdsSecret(phone))
        try await phone.sync()
        #expect(remote(cloud).isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a record that the service never had leaves nothing to push`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", secret)
        try await phone.store.erase(Note.ID("a"))
        #expect(try !holdsSecret(phone))
        #expect(try await phone.sync().pushedRecords == 0)
        #expect(remote(cloud).isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a create that is on its way is deleted on the service`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", secret)
        let first = OneTime()
        phone.service.beforeReply = { [store = phone.store] info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            let erased = try? await store.erase(Note.ID("a"))
            #expect(erased != nil)
        }
        try await phone.sync()
        try await phone.sync()
        #expect(try !holdsSecret(phone))
        #expect(remote(cloud).isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `its conflicts leave the journal, and the counts with them`() async throws {
        let phone = try await Device.withBase(cloud) { $0.conflictPolicy = .serverWins }
        try await phone.note("a", secret, body: "base")
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        #expect(try holdsSecret(phone))
        try await phone.store.erase(Note.ID("a"))
        #expect(try !holdsSecret(phone))
        #expect(try phone.engine.conflicts().isEmpty)
        try await phone.expectSettled()
    }

    @Test func `what compaction left of it is erased`() async throws {
        let phone = try await Device.withBase(cloud) { $0.conflictPolicy = .serverWins }
        try await phone.note("a", secret, body: "base")
        try cloud.editNote(["title": .string("\(secret) too")])
        #expect(try await phone.sync().conflicts == 1)
        for name in ["b", "c"] { try await phone.note(name, "other") }
        try await phone.sync()
        try await phone.store.compact(.keepUnsyncedOnly)
        #expect(try holdsSecret(phone))
        try await phone.store.erase(Note.ID("a"))
        #expect(try !holdsSecret(phone))
        try await phone.expectSettled()
        try await phone.store.compact(.keepUnsyncedOnly)
        try await phone.expectSettled()
        try await phone.sync()
        #expect(try phone.titles() == ["b": "other", "c": "other"])
    }

    @Test func `a delete that was refused keeps no reason, and is not given up`() async throws {
        let phone = try Device(cloud)
        try await phone.save(TaskList(id: "list", title: secret))
        try await phone.sync()
        try cloud.write(
            "chore", type: "Chore",
            fields: [
                "title": .string("x"),
                "list": .reference(ServiceReference(recordName: "list", action: .validate)),
            ],
            in: scenarioZone)
        try await phone.store.erase(TaskList.ID("list"), deletesOnService: true)
        try await phone.sync()
        let parked = try phone.engine.parked()
        if !parked.isEmpty {
            await #expect(throws: StoreError.self) {
                try await phone.engine.discardParked(parked)
            }
            try await phone.store.erase(TaskList.ID("list"))
        }
        #expect(try phone.find(TaskList.ID("list")) == nil)
        #expect(try !holdsSecret(phone))
        #expect(try phone.store.verify().problems == [])
    }

    /// Two devices edit, delete, erase and sync in an order from a seed. In the end they have what the
    /// service has, and no value that was erased everywhere is left on a device that erased it last.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `devices that erase agree in the end`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
        let devices = [try Device(cloud, "one"), try Device(cloud, "two")]
        for step in 0..<80 {
            let device = devices[below(2)]
            let name = "n\(below(4))"
            switch below(10) {
            case 0...3: try await device.note(name, "title \(step)", body: "\(below(3))")
            case 4: try await device.delete(Note.ID(name))
            case 5, 6:
                do {
                    try await device.store.erase(
                        Note.ID(name), deletesOnService: below(2) == 0)
                } catch let error as StoreError {
                    #expect([.unsynced, .notFound].contains(error.code))
                }
            case 7: try await device.store.compact(.keepUnsyncedOnly)
            default: try await device.sync()
            }
            #expect(try device.store.verify().problems == [])
        }
        for _ in 0..<4 {
            for device in devices { try await device.sync() }
        }
        for device in devices {
            try await device.expectSettled()
            // Everything that it has is what the service has; what it erased alone it lacks.
            let records = Dictionary(
                uniqueKeysWithValues: cloud.records(in: scenarioZone).map {
                    ($0.recordName, $0.fields["title"])
                })
            for (name, title) in try device.titles() { #expect(records[name] == .string(title)) }
        }
        for name in (0..<4).map({ "n\($0)" }) {
            try cloud.write(
                name, type: "Note", fields: ["title": .string("last")], in: scenarioZone)
        }
        for device in devices {
            try await device.sync()
            #expect(try Set(device.titles().values) == ["last"])
        }
        try await devices[0].expectEqualToFresh(cloud)
    }
}
