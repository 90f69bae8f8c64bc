import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

@Entity("Mark") struct Mark: Equatable {
    var id = ID()
    @Attribute(.unique) var name: String
    var color: String? = nil
    var rank: Int? = nil
    var place: String? = nil
}

/// What goes with its mark, on the service too.
@Entity("Marked") struct Marked: Equatable {
    var id = ID()
    @Relationship(onDelete: .cascade) var mark: Mark.ID?
}

/// One record for each mark.
@Entity("Cover") struct Cover: Equatable {
    var id = ID()
    @Attribute(.unique) @Relationship(onDelete: .nullify) var mark: Mark.ID?
    var title: String? = nil
}

/// Records with one natural key that were made on several devices.
@Suite(.budgeted) struct DuplicateTests {
    static let schema = StoreSchema(Mark.self, Marked.self, Cover.self)

    private func newCloud() -> SimulatedCloud {
        var options = SimulatedCloud.Options()
        options.keepsVersions = true
        return SimulatedCloud(options: options)
    }

    private func devices(_ count: Int, _ cloud: SimulatedCloud) throws -> [Device] {
        try (0..<count).map { try Device(cloud, "device \($0)", schema: Self.schema) }
    }

    /// A mark that differs from the others' in one field, and a record that refers to it.
    private func make(_ index: Int, on device: Device) async throws {
        let id = Mark.ID("mark-\(index)")
        let mark = Mark(
            id: id, name: "x", color: index == 0 ? "red" : nil, rank: index == 1 ? 1 : nil,
            place: index == 2 ? "here" : nil)
        try await device.save(mark)
        try await device.save(Marked(id: Marked.ID("marked-\(index)"), mark: id))
    }

    /// Synchronises until nobody has anything to say, and checks that they agree.
    private func settle(
        _ devices: [Device], _ cloud: SimulatedCloud, _ what: String
    ) async throws {
        var rounds = 0
        var isQuiet = false
        while !isQuiet, rounds < 10 {
            isQuiet = true
            for device in devices {
                let report = try await device.sync()
                if report.pushedRecords + report.pulledRecords > 0 { isQuiet = false }
            }
            rounds += 1
        }
        #expect(isQuiet, "\(what): there is no end")
        let fresh = try Device(cloud, "fresh", schema: Self.schema)
        #expect(try await fresh.sync().pushedRecords == 0, "\(what)")
        let marks = try fresh.all(Mark.self)
        #expect(marks.map(\.id) == ["mark-0"], "\(what)")
        let marked = try fresh.all(Marked.self)
        #expect(marked.allSatisfy { $0.mark == "mark-0" }, "\(what)")
        for device in devices {
            #expect(try device.all(Mark.self) == marks, "\(what)")
            #expect(try device.all(Marked.self) == marked, "\(what)")
            #expect(try device.engine.pending().pendingOperations == 0, "\(what)")
            #expect(try device.engine.parked() == [], "\(what)")
            let account = try device.store.read { transaction in
                try LogAccount(transaction.reader, mayGoBack: false) { cloud.version(tagged: $0) }
            }
            #expect(account.problems == [], "\(what)")
        }
    }

    /// A step of a device: a whole round, or one whose push does not get through or loses its reply.
    private enum Step: CaseIterable { case round, pull, lostReply }

    private func run(_ steps: [(device: Int, step: Step)], count: Int) async throws {
        let cloud = newCloud()
        let devices = try devices(count, cloud)
        for (index, device) in devices.enumerated() { try await make(index, on: device) }
        for (device, step) in steps {
            let device = devices[device]
            switch step {
            case .round: try await device.sync()
            case .pull:
                device.service.failNext(.modify, with: .errorServiceUnavailable)
                _ = await syncError { try await device.sync() }
                device.service.clearFaults()
            case .lostReply:
                device.service.failNext(.modify, with: .lostReply)
                _ = await syncError { try await device.sync() }
                device.service.clearFaults()
            }
        }
        let what = "\(count) devices, \(steps)"
        try await settle(devices, cloud, what)
        let mark = try devices[0].all(Mark.self).first
        #expect(mark?.color == "red", "\(what)")
        #expect(mark?.rank == 1, "\(what)")
        if count == 3, mark?.place != "here" {
            // One merged what another had ended meanwhile: then the journal has it.
            let isKept = try devices.contains { device in
                try device.engine.conflicts().contains { $0.local?["place"] == .string("here") }
            }
            #expect(isKept, "\(what)")
        }
        #expect(try devices[0].all(Marked.self).count == count, "\(what)")
    }

    @Test(arguments: Array(0..<6))
    func `two devices come to one record in every order`(first: Int) async throws {
        for code in stride(from: first, to: 36, by: 6) {
            var rest = code
            let steps = (0..<2).map { _ -> (device: Int, step: Step) in
                defer { rest /= 6 }
                return (rest % 2, Step.allCases[rest % 6 / 2])
            }
            try await run(steps, count: 2)
        }
    }

    @Test(arguments: Array(0..<9))
    func `three devices come to one record in every order`(first: Int) async throws {
        for second in 0..<9 where (first + second) % 2 == 0 {
            let codes = [first, second, (first * 2 + second) % 9]
            try await run(codes.map { ($0 % 3, Step.allCases[$0 / 3]) }, count: 3)
        }
    }

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func `duplicates that are on the service become one in every order`(
        order: [Int]
    ) async throws {
        for pageSize in [1, 2, 100] {
            let cloud = newCloud()
            let devices = try devices(2, cloud)
            try await devices[0].sync()
            try await make(order[1], on: devices[1])
            for index in order {
                try cloud.write(
                    "mark-\(index)", type: "Mark",
                    fields: ["name": .string("x"), "rank": .int64(Int64(index))], in: scenarioZone)
            }
            cloud.limits.recordsPerPage = pageSize
            try await settle(devices, cloud, "\(order), \(pageSize) a page")
            #expect(try devices[0].all(Mark.self).first?.rank == 0)
        }
    }

    @Test(arguments: [1, 100])
    func `records that shared a value on the way of a pull only are left alone`(
        pageSize: Int
    ) async throws {
        let cloud = newCloud()
        let devices = try devices(2, cloud)
        try await devices[0].save(Mark(id: "mark-0", name: "x"))
        for device in devices { try await device.sync() }
        let one = ServiceValue.string("x")
        let other = ServiceValue.string("y")
        try cloud.write("mark-0", type: "Mark", fields: ["name": other], in: scenarioZone)
        try cloud.write("mark-1", type: "Mark", fields: ["name": one], in: scenarioZone)
        // The feed tells the last change of a record: mark-1 comes first.
        try cloud.write("mark-0", type: "Mark", fields: ["rank": .int64(1)], in: scenarioZone)
        cloud.limits.recordsPerPage = pageSize
        #expect(try await devices[1].sync().conflicts == 0)
        #expect(try devices[1].all(Mark.self).map(\.name) == ["y", "x"])
        try await devices[1].expectSettled()
    }

    @Test func `a duplicate that has another value by now lives on, whatever the policy`()
        async throws
    {
        for policy in [ConflictPolicy.serverWins, .clientWins, .merge(otherwise: .clientWins)] {
            let cloud = newCloud()
            let device = try Device(cloud, schema: Self.schema) { $0.conflictPolicy = policy }
            try await device.sync()
            try await device.save(Mark(id: "mark-0", name: "x"))
            try cloud.write(
                "mark-1", type: "Mark", fields: ["name": .string("x")], in: scenarioZone)
            device.service.failNext(.modify, with: .errorServiceUnavailable)
            _ = await syncError { try await device.sync() }
            #expect(try device.all(Mark.self).map(\.id) == ["mark-0"])
            try cloud.write(
                "mark-1", type: "Mark", fields: ["name": .string("y")], in: scenarioZone)
            device.service.clearFaults()
            try await device.sync()
            #expect(try device.all(Mark.self).map(\.name) == ["x", "y"], "\(policy)")
            try await device.expectSettled()
            #expect(cloud.records(in: scenarioZone).count == 2)
        }
    }

    @Test func `more duplicates than one transaction looks at become one all the same`()
        async throws
    {
        let cloud = newCloud()
        let devices = try devices(2, cloud)
        let count = 2_100
        for (index, device) in devices.enumerated() {
            try await device.store.write { transaction in
                for number in 0..<count {
                    try transaction.save(
                        Mark(id: Mark.ID("mark-\(number)-\(index)"), name: "\(number)"))
                }
            }
        }
        try await devices[0].sync()
        #expect(try await devices[1].sync().conflicts == count)
        try await devices[0].sync()
        for device in devices {
            #expect(try device.all(Mark.self).allSatisfy { "\($0.id)".hasSuffix("-0") })
            #expect(try device.all(Mark.self).count == count)
        }
        #expect(cloud.records(in: scenarioZone).count == count)
    }

    @Test func `what is lost is in the journal, and what was there stays`() async throws {
        let cloud = newCloud()
        let devices = try devices(2, cloud)
        try await devices[0].save(Mark(id: "mark-0", name: "x", color: "red"))
        try await devices[1].save(Mark(id: "mark-1", name: "x", color: "blue", rank: 3))
        try await devices[0].sync()
        #expect(try await devices[1].sync().conflicts == 1)
        let merged = Mark(id: "mark-0", name: "x", color: "red", rank: 3)
        #expect(try devices[1].all(Mark.self) == [merged])
        let conflict = try #require(try devices[1].engine.conflicts().first)
        #expect(conflict.local?["color"] == .string("blue"))
        #expect(conflict.copy?.name == "mark-0")
        try await devices[1].expectSettled()
        try await settle(devices, cloud, "journal")
    }

    @Test func `what is unique by its reference follows and is merged too`() async throws {
        let cloud = newCloud()
        let devices = try devices(2, cloud)
        for (index, device) in devices.enumerated() {
            try await make(index, on: device)
            try await device.save(
                Cover(
                    id: Cover.ID("cover-\(index)"), mark: Mark.ID("mark-\(index)"),
                    title: index == 1 ? "t" : nil))
        }
        try await settle(devices, cloud, "covers")
        #expect(
            try devices[0].all(Cover.self) == [Cover(id: "cover-0", mark: "mark-0", title: "t")])
    }

    @Test func `nil is no value, and other values are left alone`() async throws {
        let cloud = newCloud()
        let devices = try devices(2, cloud)
        try await devices[0].save(Cover(id: "a", title: "one"))
        try await devices[1].save(Cover(id: "b", title: "two"))
        try await devices[0].save(Mark(id: "m", name: "x"))
        try await devices[1].save(Mark(id: "n", name: "X"))
        for device in devices + devices { try await device.sync() }
        #expect(try devices[0].all(Cover.self).count == 2)
        #expect(try devices[0].all(Mark.self).count == 2)
        try await devices[0].expectSettled()
    }

    @Test func `a record that is fetched again becomes one with its duplicate in the next round`()
        async throws
    {
        let cloud = newCloud()
        let device = try devices(1, cloud)[0]
        try await device.save(Mark(id: "mark-0", name: "x"))
        try await device.sync()
        try await device.store.write { _ = try $0.evict(Mark.ID("mark-0")) }
        try await device.save(Mark(id: "mark-1", name: "x", color: "red"))
        for _ in 0..<4 { try await device.sync() }
        // Nothing but the fetch lets a round pull.
        #expect(try device.store.info().zones.map(\.needsPull) == [false])
        #expect(try await device.engine.fetchAgain([Mark.ID("mark-0")]) == 1)
        #expect(try device.all(Mark.self).count == 2)
        #expect(try await device.sync().conflicts == 1)
        #expect(try device.all(Mark.self) == [Mark(id: "mark-0", name: "x", color: "red")])
        try await device.expectSettled()
        #expect(cloud.records(in: scenarioZone).map(\.recordName) == ["mark-0"])
    }

    @Test func `records of two zones stay two, and those of one zone become one`() async throws {
        let cloud = newCloud()
        let device = try devices(1, cloud)[0]
        try await device.save(Mark(id: "m", name: "x"))
        try await device.sync()
        try await device.pull("n", "Mark", ["name": .string("x")])
        try cloud.write("m", type: "Mark", fields: ["color": .string("red")], in: scenarioZone)
        try await device.sync()
        func merge() async throws -> [RecordKey] {
            try await device.store.withLogWriter { log in
                try DuplicateMerger(RecordMerger(log, policy: .serverWins, zone: Device.list))
                    .mergeNoted().merged.map(\.key)
            }
        }
        #expect(try await merge() == [])
        #expect(try device.all(Mark.self).map(\.color) == ["red", nil])
        try await device.pull("o", "Mark", ["name": .string("x")])
        #expect(try await merge() == [RecordKey(RecordName("o"), zone: Device.list)])
        let keys = [RecordKey("m"), RecordKey(RecordName("n"), zone: Device.list)]
        #expect(try device.all(Mark.self).map(\.id.key) == keys)
    }

    @Test func `a duplicate that is saved here is an error`() async throws {
        let cloud = newCloud()
        let device = try devices(1, cloud)[0]
        try await device.save(Mark(id: "m", name: "x"))
        await #expect(throws: StoreError.self) {
            try await device.save(Mark(id: "n", name: "x"))
        }
        #expect(try device.all(Mark.self).count == 1)
    }
}
