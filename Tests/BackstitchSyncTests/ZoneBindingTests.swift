import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A store belongs to the zone that it was first synchronised with.
@Suite(.budgeted) struct ZoneBindingTests {
    let cloud = SimulatedCloud()

    private func expectRefusal(
        _ device: Device, naming names: [String], _ location: SourceLocation = #_sourceLocation
    ) async {
        let error = await syncError { try await device.sync() }
        #expect(error?.code == .invalidConfiguration, sourceLocation: location)
        for name in names + ["move(to:)"] {
            #expect(error?.message.contains(name) == true, sourceLocation: location)
        }
    }

    @Test func `another zone name is refused before anything is exchanged`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        let requests = cloud.requestCounts
        let typo = phone.beside("note")
        await expectRefusal(typo, naming: ["'notes'", "'note'"])
        await #expect(throws: SyncError.self) { try await typo.engine.start() }
        #expect(cloud.requestCounts == requests)
        #expect(cloud.zones() == [scenarioZone])
        #expect(try typo.titles() == ["a": "edited", "b": "one", "c": "new"])
        #expect(try typo.engine.boundZone() == "notes")
        try await phone.sync()
        #expect(remote(cloud).count == 3)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `no call of an engine with another name touches the zone or the records`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.write { try $0.evict(Note.ID("b")) }
        let requests = cloud.requestCounts
        let typo = await phone.restarted { $0.zoneName = "note" }
        func expectRefused(
            _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
        ) async {
            let error = await syncError(body)
            #expect(error?.code == .invalidConfiguration, sourceLocation: location)
        }
        await expectRefused { try await typo.engine.destroyZone() }
        await expectRefused { try await typo.engine.resetLocal() }
        await expectRefused { try await typo.engine.resetRemote() }
        await expectRefused { try await typo.engine.resync(from: .local) }
        await expectRefused { try await typo.engine.resume(after: .erase) }
        await expectRefused { try await typo.engine.fetchAgain([Note.ID("b")]) }
        #expect(cloud.requestCounts == requests)
        #expect(try phone.titles() == ["a": "one"])
    }

    @Test func `a name that never reached the service binds nothing`() async throws {
        let typo = try Device(cloud) { $0.zoneName = "note" }
        try await typo.note("a", "one")
        typo.service.failNext(.currentUser, with: .lostRequest)
        #expect(await syncError { try await typo.sync() }?.code == .unreachable)
        #expect(try typo.engine.boundZone() == nil)
        let phone = await typo.restarted { $0.zoneName = "notes" }
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        #expect(try phone.engine.boundZone() == "notes")
    }

    @Test func `two processes with different names: the first binds and the other is refused`()
        async throws
    {
        let folder = try TemporaryFolder()
        let service = cloud.connection(device: "phone")
        let first = Device(store: try folder.store("s", scenarioSchema), service: service)
        let second = Device(store: try folder.store("s", scenarioSchema), service: service) {
            $0.zoneName = "other"
        }
        try await first.note("a", "one")
        try await first.sync()
        await expectRefusal(second, naming: ["'notes'", "'other'"])
        await first.engine.stop()
        await expectRefusal(second, naming: ["'notes'", "'other'"])
        #expect(cloud.zones() == [scenarioZone])
    }

    /// Puts a store in the state that a version left which did not bind it: two zones are set up, and
    /// what one of them said of a record passes for the other's.
    private func mixed() async throws -> Device {
        let phone = try await Device.withNotes(cloud)
        let user = try #require(phone.service.user)
        try await phone.store.withLogWriter { context in
            var state = ZoneState()
            state.isSetUp = true
            state.userName = user
            try context.setZoneState(state, "note")
        }
        return phone
    }

    @Test func `a store of two zones exchanges once the caller has named one`() async throws {
        let phone = try await mixed()
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        let requests = cloud.requestCounts
        await expectRefusal(phone, naming: ["'note'", "'notes'"])
        await expectRefusal(
            phone.beside("note"), naming: ["'note'", "'notes'"])
        #expect(cloud.requestCounts == requests)
        #expect(try phone.engine.boundZone() == nil)
        try await phone.engine.move(to: "notes")
        #expect(try phone.engine.boundZone() == "notes")
        #expect(
            remote(cloud) == [
                "Note a {title: edited}", "Note b {title: one}", "Note c {title: new}",
            ])
        #expect(try phone.engine.conflicts() == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a name that a failed attempt left does not count as a zone`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.withLogWriter { context in
            var state = ZoneState()
            state.retry = RetryDeadline(dueMilliseconds: 5, failures: 1, isAsked: false)
            try context.setZoneState(state, "note")
        }
        try await phone.sync()
        #expect(try phone.engine.boundZone() == "notes")
    }

    @Test(arguments: [
        (ZoneClaims(), nil), (ZoneClaims(bound: ["a"]), nil),
        (ZoneClaims(bound: ["b"]), "bound to the zone 'b'"),
        (ZoneClaims(bound: ["a", "b"]), "zones 'a' and 'b'"),
        (ZoneClaims(bound: ["b"], target: "a"), nil), (ZoneClaims(target: "a"), nil),
        (ZoneClaims(bound: ["a"], target: "b"), "moved to the zone 'b'"),
        (ZoneClaims(bound: ["a", "b"], target: "b"), "moved to the zone 'b'"),
    ])
    func `what is refused to an engine of zone a`(claims: ZoneClaims, part: String?) {
        let refusal = claims.refusal(of: "a")
        #expect((refusal == nil) == (part == nil))
        if let part { #expect(refusal?.contains(part) == true) }
    }
}

/// Mistakes in a configuration are told before anything is asked of the service.
@Suite(.budgeted) struct ConfigurationTests {
    let cloud = SimulatedCloud()

    private func expectInvalid(
        _ part: String, _ location: SourceLocation = #_sourceLocation,
        _ configure: (inout SyncConfiguration) -> Void
    ) async throws {
        let device = try Device(cloud, configure: configure)
        let error = await syncError { try await device.sync() }
        #expect(error?.code == .invalidConfiguration, sourceLocation: location)
        #expect(error?.message.contains(part) == true, sourceLocation: location)
        #expect(error?.retryDate == nil, sourceLocation: location)
        let started = await syncError { try await device.engine.start() }
        #expect(started?.code == .invalidConfiguration, sourceLocation: location)
        #expect(await device.engine.nextAttemptMilliseconds == nil, sourceLocation: location)
        #expect(cloud.requestCounts.isEmpty, sourceLocation: location)
    }

    @Test(arguments: ["", "_x y", "caf\u{E9}", String(repeating: "z", count: 256), "a\nb"])
    func `a zone name that no service takes`(name: String) async throws {
        try await expectInvalid("zoneName") { $0.zoneName = name }
        let phone = try Device(cloud)
        let error = await syncError { try await phone.engine.move(to: name) }
        #expect(error?.code == .invalidConfiguration)
        #expect(cloud.requestCounts.isEmpty)
    }

    @Test func `a subscription name that no service takes`() async throws {
        try await expectInvalid("subscriptionID") { $0.subscriptionID = "" }
    }

    @Test func `a policy that asks a resolver which is not there`() async throws {
        try await expectInvalid("the store") { $0.conflictPolicy = .resolver }
        try await expectInvalid("the store") { $0.conflictPolicy = .merge(otherwise: .resolver) }
        try await expectInvalid("Note") {
            $0.conflictRules.entities["Note"] = ConflictRules.EntityRules(policy: .resolver)
        }
        try await expectInvalid("Note") {
            $0.conflictRules.entities["Note"] = ConflictRules.EntityRules(
                policy: .merge(otherwise: .resolver), fields: ["title": .clientWins])
        }
        let phone = try Device(cloud) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in .server }
        }
        try await phone.sync()
    }

    @Test func `passes that would push nothing`() async throws {
        try await expectInvalid("recordsPerPass") { $0.recordsPerPass = 0 }
    }
}

extension Device {
    /// Another engine on the store, of an application that names another zone.
    fileprivate func beside(_ zone: String) -> Device {
        Device(store: store, service: service) { configuration in
            configuration = engine.configuration
            configuration.zoneName = zone
        }
    }
}
