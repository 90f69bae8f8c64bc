import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import LMDB
import TestBudget
import Testing

/// What a push holds in memory, whatever waits.
@Suite(.budgeted) struct PassBytesTests {
    let cloud = SimulatedCloud(clock: ManualClock())

    private static let largeCount = 100_000
    private static let large = String(repeating: "x", count: largeCount)
    /// More than a record of ``largeCount`` bytes takes by the meter.
    private static let recordBytes = 110_000

    private var batches: [[RecordModification]] {
        cloud.requests.filter { $0.kind == .modify }.map(\.modifications)
    }

    @Test func `a transaction that is larger than a pass is pushed in several`() async throws {
        let bytesMax = 1 << 20
        let phone = try Device(cloud) { $0.bytesPerPass = bytesMax }
        try await phone.store.write { transaction in
            for number in 0..<60 {
                try transaction.save(Note(id: Note.ID("n\(number)"), title: Self.large))
            }
        }
        try await phone.sync()
        #expect(phone.engine.passBytes < bytesMax + Self.recordBytes)
        #expect(phone.engine.passBytes > bytesMax / 2)
        #expect(cloud.records(in: scenarioZone).count == 60)
        #expect(batches.flatMap { $0 }.count == 60)
        try await phone.expectSettled()
    }

    @Test func `a batch has the bytes of a request at most`() async throws {
        cloud.limits.requestBytes = 350_000
        let phone = try Device(cloud)
        for number in 0..<10 { try await phone.note("n\(number)", Self.large) }
        try await phone.sync()
        let sizes = batches.map { batch in batch.reduce(0) { $0 + $1.byteCount } }
        #expect(sizes.allSatisfy { $0 <= 350_000 } && sizes.count == 4)
        try await phone.expectSettled()
    }

    @Test func `a round has as many passes as there is to push`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 1 }
        let count = SyncMachine.passesMax * 2
        for number in 0..<count { try await phone.note("n\(number)", "x") }
        let report = try await phone.sync()
        #expect(report.pushedRecords == count)
        try await phone.expectSettled()
    }

    @Test func `a record that is larger than a pass goes by itself`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 1 }
        for name in ["a", "b"] { try await phone.note(name, Self.large) }
        try await phone.store.write { transaction in
            for name in ["c", "d"] {
                try transaction.save(Note(id: Note.ID(name), title: Self.large))
            }
        }
        try await phone.sync()
        #expect(phone.engine.passBytes < Self.recordBytes)
        #expect(batches.map(\.count) == [1, 1, 1, 1])
        try await phone.expectSettled()
    }

    @Test func `later edits join a pass while its bytes allow it`() async throws {
        let bytesMax = 500_000
        let phone = try Device(cloud) {
            $0.recordsPerPass = 20
            $0.bytesPerPass = bytesMax
        }
        for number in 0..<20 { try await phone.note("n\(number)", "small") }
        for number in 0..<20 { try await phone.note("n\(number)", Self.large) }
        try await phone.sync()
        #expect(phone.engine.passBytes < bytesMax + Self.recordBytes)
        let titles = cloud.records(in: scenarioZone).map { $0.fields["title"] }
        #expect(titles == Array(repeating: .string(Self.large), count: 20))
        try await phone.expectSettled()
    }

    @Test func `later edits join a pass that is smaller than a transaction`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 200_000 }
        for title in ["first", "later"] {
            try await phone.store.write { transaction in
                for number in 0..<400 {
                    try transaction.save(Note(id: Note.ID("n\(number)"), title: title))
                }
            }
        }
        try await phone.sync()
        #expect(phone.engine.passBytes < 200_000)
        #expect(batches.flatMap { $0 }.count == 400)
        let titles = cloud.records(in: scenarioZone).map { $0.fields["title"] }
        #expect(titles == Array(repeating: .string("later"), count: 400))
        try await phone.expectSettled()
    }

    @Test func `many edits of one record take the memory of one`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 1 << 20 }
        for number in 0..<40 { try await phone.note("n", Self.large + "\(number)") }
        try await phone.sync()
        #expect(phone.engine.passBytes < Self.recordBytes)
        #expect(batches.map(\.count) == [1])
        try await phone.expectSettled()
    }

    @Test func `small records count too`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 200_000 }
        try await phone.store.write { transaction in
            for number in 0..<1_000 {
                try transaction.save(Note(id: Note.ID("n\(number)"), title: "t"))
            }
        }
        try await phone.sync()
        #expect(phone.engine.passBytes < 210_000)
        #expect(cloud.records(in: scenarioZone).count == 1_000)
        try await phone.expectSettled()
    }

    @Test func `parked records don't fill a pass`() async throws {
        let phone = try Device(cloud)
        for number in 0..<400 {
            try await phone.save(Chore(id: .init("c\(number)"), title: "t", list: "nowhere"))
        }
        try await phone.sync()
        for number in 0..<400 { try await phone.note("n\(number)", "t") }
        let (bytes, passes) = try await phone.store.withLogWriter { context in
            try context.marks.setOutboxFloor(0)
            var outbox = Outbox()
            outbox.isComplete = false
            var (bytes, passes) = (0, 0)
            while !outbox.isComplete {
                outbox = try OutboxFolder(context.reader).fold(
                    recordsMax: 10_000, bytesMax: 50_000, after: outbox.through)
                bytes = max(bytes, outbox.byteCount)
                passes += 1
            }
            return (bytes, passes)
        }
        #expect(bytes < 55_000 && passes > 4)
        try await phone.sync()
        #expect(cloud.records(in: scenarioZone).count == 400)
    }

    // MARK: Order

    @Test func `a reference to a record of a later pass follows`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 400_000 }
        try await phone.store.write { transaction in
            for number in 0..<12 {
                try transaction.save(
                    Chore(id: .init("c\(number)"), title: Self.large, list: .init("l\(number)")))
            }
            for number in 0..<12 {
                try transaction.save(TaskList(id: .init("l\(number)"), title: Self.large))
            }
        }
        let report = try await phone.sync()
        #expect(report.parkedRecords == 0)
        #expect(phone.engine.passBytes < 400_000 + Self.recordBytes)
        for number in 0..<12 {
            let chore = cloud.record(named: "c\(number)", in: scenarioZone)
            #expect(
                chore?.fields["list"]
                    == .reference(ServiceReference(recordName: "l\(number)", action: .validate)))
        }
        try await phone.expectSettled()
        let fresh = try Device(cloud, "fresh")
        try await fresh.sync()
        #expect(try fresh.all(Chore.self) == phone.all(Chore.self))
    }

    @Test(arguments: [1, 150_000, 1 << 24])
    func `a circle that no pass holds is closed all the same`(bytesMax: Int) async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = bytesMax }
        try await phone.store.write { transaction in
            for number in 0..<6 {
                try transaction.save(
                    TaskList(
                        id: .init("l\(number)"), title: Self.large,
                        parent: .init("l\((number + 1) % 6)")))
            }
        }
        let report = try await phone.sync()
        #expect(report.parkedRecords == 0)
        try await phone.expectSettled()
        let fresh = try Device(cloud, "fresh")
        try await fresh.sync()
        #expect(try fresh.all(TaskList.self) == phone.all(TaskList.self))
        #expect(try fresh.all(TaskList.self).allSatisfy { $0.parent != nil })
    }

    @Test func `deletes of one transaction keep their order over passes`() async throws {
        let phone = try Device(cloud) { $0.bytesPerPass = 6_000 }
        try await phone.store.write { transaction in
            try transaction.save(TaskList(id: "l", title: "list"))
            for number in 0..<20 {
                try transaction.save(Chore(id: .init("c\(number)"), title: "t", list: "l"))
            }
        }
        try await phone.sync()
        try await phone.store.write { transaction in
            for number in 0..<20 { try transaction.delete(Chore.ID("c\(number)")) }
            try transaction.delete(TaskList.ID("l"))
        }
        let report = try await phone.sync()
        #expect(report.parkedRecords == 0)
        #expect(cloud.records(in: scenarioZone).isEmpty)
        try await phone.expectSettled()
    }

    @Test func `what is listed as pending is folded in parts`() async throws {
        let phone = try Device(cloud)
        for number in 0..<120 { try await phone.note("n\(number)", Self.large) }
        for number in 0..<120 { try await phone.note("n\(number)", "small") }
        let names = try phone.engine.pendingRecords().map(\.record.name)
        #expect(names == (0..<120).map { "n\($0)" })
        #expect(try phone.engine.pendingRecords(limit: 70).count == 70)
    }
}
