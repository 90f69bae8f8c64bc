import Backstitch
import BackstitchTesting
import TestBudget
import Testing

/// A push that takes several passes over the log.
@Suite(.budgeted) struct PassTests {
    let cloud = SimulatedCloud(clock: ManualClock())

    /// What was sent, a line for each request.
    private var sent: [[String]] {
        cloud.requests.filter { $0.kind == .modify }.map { request in
            request.modifications.map { modification in
                switch modification {
                case .create: "create \(modification.recordName)"
                case .update: "update \(modification.recordName)"
                case .delete: "delete \(modification.recordName)"
                }
            }
        }
    }

    @Test func `a record is pushed once, however many passes its edits are apart`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 20 }
        for edit in ["one", "two", "three"] {
            for number in 0..<50 { try await phone.note("n\(number)", edit) }
        }
        try await phone.sync()
        #expect(sent.map(\.count) == [20, 20, 10])
        let titles = cloud.records(in: scenarioZone).map { $0.fields["title"] }
        #expect(titles == Array(repeating: .string("three"), count: 50))
        try await phone.expectSettled()
    }

    @Test func `a later edit waits for the record that it needs`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 1 }
        try await phone.save(Chore(id: "chore", title: "one"))
        try await phone.save(Chore(id: "chore", title: "two"))
        try await phone.save(TaskList(id: "list", title: "list"))
        try await phone.save(Chore(id: "chore", title: "three", list: "list"))
        let report = try await phone.sync()
        #expect(sent == [["create chore"], ["create list"], ["update chore"]])
        #expect(report.parkedRecords == 0)
        try await phone.expectSettled()
    }

    @Test func `a later delete waits until nothing needs the record`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 1 }
        try await phone.save(TaskList(id: "list", title: "list"))
        try await phone.save(Chore(id: "chore", title: "one", list: "list"))
        try await phone.sync()
        let before = sent.count
        try await phone.save(TaskList(id: "list", title: "edited"))
        try await phone.save(Chore(id: "chore", title: "one", list: nil))
        try await phone.delete(TaskList.ID("list"))
        let report = try await phone.sync()
        #expect(sent[before...] == [["update list"], ["update chore"], ["delete list"]])
        #expect(report.parkedRecords == 0)
        try await phone.expectSettled()
    }
}
