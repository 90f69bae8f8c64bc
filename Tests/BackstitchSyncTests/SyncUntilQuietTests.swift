import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// The helper with which tests of apps bring devices together.
@Suite(.budgeted) struct SyncUntilQuietTests {
    @Test func `devices that edited alone have the same when all is quiet`() async throws {
        let cloud = SimulatedCloud()
        let devices = try ["phone", "laptop", "tablet"].map { try Device(cloud, $0) }
        for (number, device) in devices.enumerated() {
            try await device.note("own\(number)", "\(number)")
            try await device.note("shared", "\(number)", body: "\(number)")
        }
        let turns = try await sync(
            devices[0].engine, devices[1].engine, devices[2].engine, untilQuiet: 10)
        #expect(turns > 1)
        let titles = try devices[0].titles()
        #expect(titles.count == 4)
        for device in devices {
            #expect(try device.titles() == titles)
            try await device.expectSettled()
        }
        #expect(try await sync(devices[0].engine, devices[1].engine) == 1)
    }

    @Test func `a bound that is too low is an error that says what to do`() async throws {
        let cloud = SimulatedCloud()
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        let error = await #expect(throws: NotQuiet.self) {
            try await sync(phone.engine, untilQuiet: 1)
        }
        #expect(error?.turns == 1 && error?.engines == 1)
        #expect(error?.description.contains("Allow more turns") == true)
        #expect(try await sync(phone.engine, untilQuiet: 2) <= 2)
    }

    @Test func `what the service refuses is thrown`() async throws {
        let cloud = SimulatedCloud()
        let phone = try Device(
            store: .inMemory(schema: scenarioSchema),
            service: cloud.connection(user: nil, device: "phone"))
        await #expect(throws: SyncError.self) { try await sync(phone.engine) }
    }

    @Test func `an attribute of another type under the same name is parked`() async throws {
        let cloud = SimulatedCloud()
        let phone = try await Device.withNotes(cloud)
        let other = try Device(
            store: .inMemory(schema: StoreSchema(RetypedNote.self)),
            service: cloud.connection(device: "new"))
        try await other.save(RetypedNote(id: "c", title: 3))
        try await sync(phone.engine, other.engine)
        let parked = try other.engine.parked()
        #expect(parked.map(\.record.name) == ["c"])
        #expect(parked.first?.reason.contains("defined to be: STRING") == true)
        #expect(try phone.titles().keys.sorted() == ["a", "b"])
    }
}

/// The note of an app that gave an attribute another type without another name.
@Entity("Note") private struct RetypedNote: Equatable {
    var id = ID()
    var title: Int
}
