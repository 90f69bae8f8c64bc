import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

/// A parcel: the service tells where it is, and only the service is told what it weighs.
@Entity("Parcel") struct Parcel: Equatable {
    var id = ID()
    var title: String
    @Attribute(.notUploaded) var place: String? = nil
    @Attribute(.notDownloaded) var weight: Int? = nil
    @Attribute(serviceName: "remark_text") var remark: String? = nil
}

@Entity("Parcel") struct OpenParcel: Equatable {
    var id = ID()
    var title: String
    var place: String? = nil
    var weight: Int? = nil
    @Attribute(serviceName: "remark_text") var remark: String? = nil
    var color: String? = nil
}

/// Attributes that travel one way, and fields of another name.
@Suite(.budgeted) struct MaskTests {
    let cloud = SimulatedCloud()
    let schema = StoreSchema(Parcel.self)

    private func phone(
        _ name: String = "phone", _ policy: ConflictPolicy = .serverWins
    ) throws -> Device {
        try Device(cloud, name, schema: schema) { $0.conflictPolicy = policy }
    }

    private func theirs(_ fields: NamedFields) throws {
        try cloud.write("a", type: "Parcel", fields: fields, in: scenarioZone)
    }

    private func parcel(_ device: Device) throws -> Parcel? { try device.find(Parcel.ID("a")) }

    @Test func `each field goes the ways that it may, under its name on the service`() async throws
    {
        let phone = try phone()
        try await phone.save(Parcel(id: "a", title: "t", place: "here", weight: 5, remark: "r"))
        try await phone.sync()
        #expect(remote(cloud) == ["Parcel a {remark_text: r, title: t, weight: 5}"])
        try theirs(["place": .string("Rome"), "weight": .int64(9), "remark_text": .string("s")])
        try await phone.sync()
        #expect(
            try parcel(phone)
                == Parcel(id: "a", title: "t", place: "Rome", weight: 5, remark: "s"))
        try await phone.expectSettled()
    }

    @Test func `pulls ask for the fields that are taken over`() async throws {
        let phone = try phone()
        let asked = Locked<[Set<String>?]>([])
        phone.service.beforeRequest = { info throws(ServiceError) in
            if info.kind == .zoneChanges { asked.withLock { $0.append(info.fields) } }
        }
        try await phone.sync()
        #expect(asked.withLock { $0 } == [["title", "place", "remark_text"]])
    }

    @Test func `what is not pulled stays through pulls and conflicts`() async throws {
        let phone = try phone()
        try await phone.save(Parcel(id: "a", title: "t", weight: 5))
        try await phone.sync()
        try theirs(["title": .string("u"), "weight": .null])
        try await phone.sync()
        #expect(try parcel(phone)?.weight == 5)
        // The edit of the weight survives though the service wins the title.
        try await phone.save(Parcel(id: "a", title: "mine", weight: 6))
        try theirs(["title": .string("theirs")])
        try await phone.sync()
        #expect(try parcel(phone) == Parcel(id: "a", title: "theirs", weight: 6))
        #expect(remote(cloud) == ["Parcel a {title: theirs, weight: 6}"])
        try await phone.expectSettled()
    }

    @Test func `an edit of nothing but what is not pulled survives others' edits`() async throws {
        let phone = try phone()
        try await phone.save(Parcel(id: "a", title: "t", weight: 5))
        try await phone.sync()
        try await phone.save(Parcel(id: "a", title: "t", weight: 6))
        try theirs(["title": .string("u")])
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Parcel a {title: u, weight: 6}"])
        try await phone.expectSettled()
    }

    @Test(arguments: [
        ConflictPolicy.serverWins, .clientWins, .lastWriterWins, .merge(otherwise: .clientWins),
    ])
    func `a push never clears what this device does not see`(
        policy: ConflictPolicy
    ) async throws {
        let (phone, tablet) = (try phone("phone", policy), try phone("tablet", policy))
        try await phone.save(Parcel(id: "a", title: "t", weight: 5))
        try await phone.sync()
        try theirs(["place": .string("Rome")])
        try await tablet.sync()
        #expect(try parcel(tablet) == Parcel(id: "a", title: "t", place: "Rome"))
        try await tablet.save(Parcel(id: "a", title: "mine", place: nil))
        try theirs(["title": .string("theirs")])
        try await tablet.sync()
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud) == ["Parcel a {place: Rome, title: \(title), weight: 5}"])
        #expect(try parcel(tablet)?.place == "Rome")
        try await tablet.expectSettled()
    }

    @Test func `an edit of what is not pushed has nothing to push`() async throws {
        let phone = try phone()
        try await phone.save(Parcel(id: "a", title: "t"))
        try await phone.sync()
        try await phone.save(Parcel(id: "a", title: "t", place: "here"))
        #expect(try await phone.sync().pushedRecords == 0)
        try theirs(["title": .string("u")])
        try await phone.sync()
        #expect(try parcel(phone) == Parcel(id: "a", title: "u", place: "here"))
        try await phone.expectSettled()
    }

    @Test func `a lost reply is found out though fields are masked`() async throws {
        let phone = try phone()
        phone.service.failNext(.modify, with: .lostReply)
        try await phone.save(Parcel(id: "a", title: "t", place: "here", weight: 5))
        _ = await syncError { try await phone.sync() }
        #expect(try await phone.sync().conflicts == 0)
        #expect(try parcel(phone) == Parcel(id: "a", title: "t", place: "here", weight: 5))
        #expect(remote(cloud) == ["Parcel a {title: t, weight: 5}"])
        try await phone.expectSettled()
    }

    @Test func `masks that are lifted push and fetch what was left out`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.store("phone", schema)
        var phone = Device(store: store, service: cloud.connection(device: "phone"))
        try await phone.save(Parcel(id: "a", title: "t"))
        try await phone.save(Parcel(id: "b", title: "u", place: "here"))
        try await phone.sync()
        try theirs(["weight": .int64(9), "color": .string("red")])
        try await phone.sync()
        #expect(try parcel(phone)?.weight == nil)
        store.close()
        store = try folder.store("phone", StoreSchema(OpenParcel.self, version: 1))
        phone = Device(store: store, service: cloud.connection(device: "phone"))
        try await phone.save(OpenParcel(id: "c", title: "unsynced"))
        try await phone.save(OpenParcel(id: "a", title: "edited"))
        try await phone.sync()
        #expect(
            try phone.find(OpenParcel.ID("a"))
                == OpenParcel(id: "a", title: "edited", weight: 9, color: "red"))
        #expect(
            remote(cloud) == [
                "Parcel a {color: red, title: edited, weight: 9}",
                "Parcel b {place: here, title: u}", "Parcel c {title: unsynced}",
            ])
        try await phone.expectSettled()
        #expect(try await phone.sync().pulledRecords <= 3)
        #expect(try await phone.sync().pulledRecords == 0)
    }

    @Test func `masks that are added keep what is there`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.store("phone", StoreSchema(OpenParcel.self))
        var phone = Device(store: store, service: cloud.connection(device: "phone"))
        try await phone.save(OpenParcel(id: "a", title: "t", place: "here", weight: 5))
        try await phone.sync()
        try await phone.save(OpenParcel(id: "a", title: "t", place: "there", weight: 6))
        store.close()
        store = try folder.store("phone", schema)
        phone = Device(store: store, service: cloud.connection(device: "phone"))
        try await phone.sync()
        #expect(try parcel(phone) == Parcel(id: "a", title: "t", place: "there", weight: 6))
        #expect(remote(cloud) == ["Parcel a {place: here, title: t, weight: 6}"])
        try await phone.expectSettled()
    }
}
