import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSimulation
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity struct Remark {
    var id = ID()
    var title: String
    var text: String?
}

/// Bugs that seeds from the whole range of 64 bits found: the scripts that they were cut down to, and
/// each cause in a few steps.
@Suite(.budgeted) struct FoundByFreshSeedsTests {
    private let cloud: SimulatedCloud
    private let zone = ZoneID("Notes")
    private let id = Remark.ID("a")

    init() {
        var options = SimulatedCloud.Options()
        options.keepsVersions = true
        cloud = SimulatedCloud(options: options)
    }

    private struct Phone {
        let store: Store
        let service: SimulatedRecordService
        let engine: SyncEngine

        func save(_ title: String, _ text: String? = nil, isLocalOnly: Bool = false) async throws {
            let remark = Remark(id: "a", title: title, text: text)
            try await store.write(isLocalOnly: isLocalOnly) { _ = try $0.save(remark) }
        }

        func remark() throws -> Remark? { try store.read { try $0.find(Remark.self, "a") } }

        /// A round that may have to leave something to the next one.
        func syncUnreliably() async { _ = try? await engine.sync() }
    }

    /// A phone that has made the zone.
    private func phone(recordsPerPass: Int = 10_000) async throws -> Phone {
        let store = try Store.inMemory(schema: StoreSchema(Remark.self))
        let service = cloud.connection(device: "phone")
        let phone = Phone(
            store: store, service: service,
            engine: SyncEngine(
                store: store, service: service,
                configuration: SyncConfiguration(
                    zoneName: "Notes", syncOnSave: false, recordsPerPass: recordsPerPass)))
        _ = try await phone.engine.sync()
        return phone
    }

    private func write(_ fields: NamedFields) throws {
        try cloud.write("a", type: "Remark", fields: fields, in: zone)
    }

    private var remote: NamedFields? { cloud.record(named: "a", in: zone)?.fields }

    private func problems(_ phone: Phone) throws -> [String] {
        try phone.store.read { [cloud] transaction in
            try LogAccount(transaction.reader, mayGoBack: false) { cloud.version(tagged: $0) }
        }.problems
    }

    private func expectSame(_ phone: Phone, _ title: String, _ text: String? = nil) throws {
        #expect(try phone.remark()?.title == title)
        #expect(try phone.remark()?.text == text)
        #expect(remote?["title"] == .string(title))
        #expect(remote?["text"] == text.map { .string($0) })
        #expect(try phone.engine.pending().pendingRecords == 0)
        #expect(try problems(phone) == [])
    }

    @Test(arguments: [
        // A note began as one of the device alone. Its first edit was pushed as a create, whose reply
        // was lost; somebody's version without one field then passed for it.
        "seed-103454495",
        // A folder that was to stay here was edited, deleted and made anew. One record at a time, the
        // create of the edit was sent with the values of the new one.
        "seed-103455638",
        // A conflict did not tell the service's record, and a replica that did not know the record
        // yet answered the lookup: it was taken for deleted, and the feed was read past it.
        "seed-295436623",
        // A record was parked in a conflict with what a restored backup had. Later each lookup gave
        // that version, older than the one that the device had pushed, and was taken for a replica
        // that lags behind: the device never pushed again.
        "seed-8748064529465533114",
        // A create whose reply was lost was carried out after somebody had deleted the record that the
        // device knew: a record of its own name, and no echo of the one that it had.
        "seed-15504070675008376391",
        // A version from before the loss of a zone is met again: what had stayed on the device then
        // stays there again, also where the service had been given it in between.
        "seed-10789564966340577192",
        "seed-8741663361203493055",
        "seed-17909894881317234738",
        // The log was compacted before the loss of a zone, and with it the record of which fields had
        // stayed on the device: a conflict is reported with what the device itself had written.
        "seed-6172144202380356025",
        // What had stayed on a device was uploaded after the loss of a zone. When that was lost too and
        // the version before was back, the later edits passed for ones that it has.
        "seed-13164742896670066682",
        // A record that stays here got the file of another one, which was then taken off this device: no
        // record that was asked had the content.
        "seed-5431",
        // The lookup of a transfer, which needs no turn, was held while another process exchanged.
        "seed-4322",
        // A record that stays on a device got the file of another one, which only the service had, and
        // the last record that had it there was deleted: nobody could keep that file. And a device had a
        // content of its own, and could not know that it is the one of a service's checksum.
        "seed-41932",
        "seed-40341",
        // The log was compacted, and with it the record of which fields had stayed on the device; then the
        // reply of a push was lost, and the device's own version came with another edit waiting.
        "seed-6617768950523003203",
        // A record was parked for a conflict while its files were refused twice; tried again for that, it
        // was parked for the files, and given up before anybody had tried these again.
        "seed-18387",
        // A device started again in a round, and a second engine on the store that it had closed was
        // taken for one that exchanges.
        "seed-13232603744944830573",
        // A lookup told the end of a record, then the feed did. What a replica that lags behind
        // answered when it was looked up once more brought the record back for good.
        "seed-6583815460740989383",
        // A zone was deleted, and the service then put back to a backup. A version from between was
        // pushed as an edit, and still counted as one of the service's, so that what an edit before it had
        // kept on the device passed for pushed.
        "seed-14621505161139065951",
        // The same, and an edit was waiting as the zone was lost.
        "seed-173717186765917868",
        // A parked record was released by what came with the first of several runs of the outbox; after a
        // later run, its edits from before that were not looked for any more.
        "seed-17335118131408250880",
        // A record was parked while the service did not have it. The note of that outlived the push of a
        // retry, and the next round took the record for deleted.
        "seed-10671478617174255042",
        // The token of the feed expired between the last pull and a push, and the service then lost the push.
        // The token said nothing of it: a full fetch took the records for deleted, or, where the token had
        // not expired in the older state, nobody sent them again.
        "seed-6348018217029420099",
        "seed-13176227313669927065",
        "seed-781832684008794858",
        "seed-7532456243165496188",
        // Some pages of a photo stayed on a device. An edit of them was pushed without its files, and the
        // disk was full as the reply came: the device took its own version for another one.
        "seed-17876295267775613709",
    ])
    func `a script that failed passes`(name: String) async throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Scripts/\(name).json")
        let script = try SimulationScript(json: try Data(contentsOf: path))
        let result = await script.run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
        #expect(result.rounds > 5)
    }

    // MARK: Records that began here to stay

    @Test func `a create has the values of the operations that it stands for`() async throws {
        let phone = try await phone(recordsPerPass: 1)
        try await phone.save("kept", isLocalOnly: true)
        try await phone.save("kept", "edited")
        try await phone.store.write { _ = try $0.delete(id) }
        try await phone.store.write { _ = try $0.save(Remark(id: "other", title: "other")) }
        try await phone.save("anew")
        _ = try await phone.engine.sync()
        #expect(
            cloud.requests.flatMap(\.modifications).first
                == .create(
                    recordName: "a", recordType: "Remark",
                    fields: ["title": .string("kept"), "text": .string("edited")]))
        try expectSame(phone, "anew")
    }

    @Test func `what was kept before the first edit does not hide what others write later`()
        async throws
    {
        let phone = try await phone()
        try await phone.save("first", isLocalOnly: true)
        try await phone.save("second", isLocalOnly: true)
        try await phone.save("second", "pushed")
        _ = try await phone.engine.sync()
        // The value that the title had before it was pushed.
        try write(["title": .string("first")])
        try await phone.save("second", "edited")
        _ = try await phone.engine.sync()
        try expectSame(phone, "first", "pushed")
    }

    @Test func `another record of the name is not taken for a first edit that lacks a field`()
        async throws
    {
        let phone = try await phone()
        try await phone.save("one", isLocalOnly: true)
        try await phone.save("one", "kept", isLocalOnly: true)
        try await phone.save("two", "kept")
        try write(["title": .string("two")])
        _ = try await phone.engine.sync()
        try expectSame(phone, "two")
    }

    @Test func `an own version is recognised by what it had of a record that was kept in part`()
        async throws
    {
        let phone = try await phone()
        try await phone.save("one", "text")
        _ = try await phone.engine.sync()
        try await phone.save("mine", "text", isLocalOnly: true)
        try await phone.save("mine", "pushed")
        _ = try await phone.engine.sync()
        #expect(remote?["title"] == .string("one"))
        try await phone.store.write { _ = try $0.delete(id) }
        phone.service.failNext(.databaseChanges, with: .zoneNotFound)
        _ = try await phone.engine.sync()
        #expect(remote == nil)
        #expect(try phone.engine.conflicts().isEmpty)
        #expect(try phone.remark() == nil)
        #expect(try problems(phone) == [])
    }

    // MARK: Lookups that a replica answers which lags behind

    @Test func `an older version from a lookup does not replace the one that is known`()
        async throws
    {
        let phone = try await phone()
        try write(["title": .string("one")])
        try write(["title": .string("two")])
        _ = try await phone.engine.sync()
        try await phone.save("two", "mine")
        phone.service.failNext(.modify, with: .conflict)
        phone.service.failNext(.lookup, with: .staleRead)
        await phone.syncUnreliably()
        #expect(try phone.remark()?.text == "mine")
        _ = try await phone.engine.sync()
        try expectSame(phone, "two", "mine")
        #expect(try phone.engine.conflicts().isEmpty)
    }

    @Test func `a lookup that finds nothing does not end what a conflict speaks of`() async throws {
        let phone = try await phone()
        try write(["title": .string("one")])
        _ = try await phone.engine.sync()
        try await phone.save("one", "mine")
        phone.service.failNext(.modify, with: .conflict)
        phone.service.failNext(.lookup, with: .staleRead)
        await phone.syncUnreliably()
        #expect(try phone.remark()?.text == "mine")
        _ = try await phone.engine.sync()
        try expectSame(phone, "one", "mine")
        #expect(try phone.engine.conflicts().isEmpty)
    }

    @Test func `a record that a lookup ended is looked up once more`() async throws {
        let phone = try await phone()
        try write(["title": .string("one")])
        _ = try await phone.engine.sync()
        try await phone.save("one", "mine")
        phone.service.failNext(.modify, with: .unknownItem)
        phone.service.failNext(.lookup, with: .staleRead)
        await phone.syncUnreliably()
        _ = try await phone.engine.sync()
        try expectSame(phone, "one")
        #expect(try phone.engine.conflicts().count == 1)
        // It is really gone now: nothing is asked for again and again.
        try cloud.remove("a", in: zone)
        try await phone.save("one", "again")
        cloud.clearRequests()
        _ = try await phone.engine.sync()
        _ = try await phone.engine.sync()
        _ = try await phone.engine.sync()
        #expect(cloud.requests.count { $0.kind == .lookup } <= 2)
    }

    @Test func `a record that the feed ended is not looked up once more`() async throws {
        let phone = try await phone()
        try write(["title": .string("one")])
        _ = try await phone.engine.sync()
        try await phone.store.write { _ = try $0.delete(id) }
        try cloud.remove("a", in: zone)
        // The push comes before the feed tells, and the round ends before the lookup is repeated.
        phone.service.failNext(.databaseChanges, with: .staleRead)
        phone.service.inject(ScriptedFault(.error(.network), on: .lookup, skip: 1))
        cloud.clearRequests()
        await phone.syncUnreliably()
        #expect(cloud.requests.map(\.kind) == [.databaseChanges, .modify, .lookup, .lookup])
        phone.service.failNext(.lookup, with: .staleRead)
        _ = try await phone.engine.sync()
        #expect(try phone.remark() == nil)
        #expect(try phone.engine.pending().pendingRecords == 0)
        #expect(try problems(phone) == [])
    }

    @Test func `an evicted record comes back as it was at least`() async throws {
        let phone = try await phone()
        try write(["title": .string("one")])
        try write(["title": .string("two")])
        _ = try await phone.engine.sync()
        try await phone.store.write { [id] in _ = try $0.evict(id) }
        phone.service.failNext(.lookup, with: .staleRead)
        #expect(try await phone.engine.fetchAgain([id]) == 0)
        #expect(try await phone.engine.fetchAgain([id]) == 1)
        try expectSame(phone, "two")
    }

    @Test func `an evicted record that a replica does not know yet can be fetched later`()
        async throws
    {
        let phone = try await phone()
        try write(["title": .string("one")])
        _ = try await phone.engine.sync()
        try await phone.store.write { [id] in _ = try $0.evict(id) }
        phone.service.failNext(.lookup, with: .staleRead)
        #expect(try await phone.engine.fetchAgain([id]) == 0)
        #expect(try await phone.engine.fetchAgain([id]) == 1)
        try expectSame(phone, "one")
    }
}
