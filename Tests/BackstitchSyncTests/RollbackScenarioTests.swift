import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A service that was put back to an older state, and told nobody.
@Suite(.budgeted) struct RollbackScenarioTests {
    let cloud = SimulatedCloud()

    /// Exchanges until nothing can be left, and checks that all have these notes.
    private func expectSame(
        _ devices: [Device], _ titles: [String: String],
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        for _ in 0..<2 {
            for device in devices { try await device.sync() }
        }
        for device in devices {
            #expect(try device.titles() == titles, sourceLocation: location)
            #expect(try device.engine.conflicts().isEmpty, sourceLocation: location)
            try await device.expectSettled(location)
        }
        #expect(
            remote(cloud) == titles.sorted { $0.key < $1.key }.map { "Note \($0) {title: \($1)}" },
            sourceLocation: location)
    }

    /// Two devices with the notes `a` and `b`, and the service as it is then.
    private func pair() async throws -> (
        phone: Device, laptop: Device, older: SimulatedCloud.Snapshot
    ) {
        let phone = try await Device.withNotes(cloud)
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        return (phone, laptop, cloud.snapshot())
    }

    /// A device that deleted note `a` and made it again, and the service as it is between the two.
    private func remade() async throws -> (phone: Device, older: SimulatedCloud.Snapshot) {
        let phone = try await Device.withNotes(cloud)
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        let older = cloud.snapshot()
        try await phone.note("a", "again")
        return (phone, older)
    }

    /// - Parameters:
    ///   - rounds: How often the device synchronises before; after the first time it has pushed and not
    ///     pulled.
    ///   - others: How many records another client writes after.
    @Test(arguments: [1, 2], [0, 1, 30])
    func `what a device had acknowledged is sent again`(rounds: Int, others: Int) async throws {
        let (phone, laptop, older) = try await pair()
        try await phone.note("a", "two")
        try await phone.note("later", "one")
        for _ in 0..<rounds { try await phone.sync() }
        cloud.rollBack(to: older)
        var titles = ["a": "two", "b": "one", "later": "one"]
        for number in 0..<others {
            let name = "other \(number)"
            try cloud.write(name, type: "Note", fields: ["title": .string("o")], in: scenarioZone)
            titles[name] = "o"
        }
        // An edit of what the service lost does not end it.
        try await phone.note("later", "two")
        titles["later"] = "two"
        try await expectSame([phone, laptop], titles)
    }

    /// Three devices and the states of note `a` in the order "one", "two", "three", of which the laptop heard
    /// the first two and the tablet the first and the last. The service lost all but the first, got
    /// "two" from the laptop, and the tablet has heard that.
    private func oldAgain() async throws -> (
        phone: Device, laptop: Device, tablet: Device, newest: SimulatedCloud.Snapshot
    ) {
        let (phone, laptop, older) = try await pair()
        let tablet = try Device(cloud, "tablet")
        try await tablet.sync()
        try await phone.note("a", "two")
        try await phone.sync()
        try await laptop.sync()
        try await phone.note("a", "three")
        try await phone.sync()
        try await tablet.sync()
        let newest = cloud.snapshot()
        cloud.rollBack(to: older)
        for _ in 0..<2 {
            try await laptop.sync()
            try await tablet.sync()
        }
        #expect(try tablet.titles()["a"] == "two")
        return (phone, laptop, tablet, newest)
    }

    @Test func `an older version that another device sent again gives way to the last one`()
        async throws
    {
        let (phone, laptop, tablet, _) = try await oldAgain()
        try await expectSame([phone, laptop, tablet], ["a": "three", "b": "one"])
    }

    // The tablet's log has "three" before "two".
    @Test(arguments: [false, true])
    func `an older version that was sent again does not take the place of the last one`(
        isPushed: Bool
    ) async throws {
        let (phone, laptop, tablet, newest) = try await oldAgain()
        if isPushed {
            // The service loses what it has heard of the tablet, and nothing of the phone.
            try await phone.sync()
            try await phone.sync()
            let sent = cloud.snapshot()
            #expect(remote(cloud) == ["Note a {title: three}", "Note b {title: one}"])
            cloud.rollBack(to: newest)
            try await laptop.sync()
            try await tablet.sync()
            cloud.rollBack(to: sent)
        } else {
            cloud.rollBack(to: newest)
        }
        try await expectSame([tablet, laptop, phone], ["a": "three", "b": "one"])
    }

    @Test func `an acknowledged edit of an older version that was sent again is sent again`()
        async throws
    {
        let (phone, laptop, tablet, newest) = try await oldAgain()
        try await tablet.note("a", "four")
        try await tablet.sync()
        cloud.rollBack(to: newest)
        try await expectSame([tablet, laptop, phone], ["a": "four", "b": "one"])
    }

    // Of two versions that devices send again, neither is known to be the later one, also after the policy has decided.
    @Test func `a version that lost against one that was sent again is taken when it comes`()
        async throws
    {
        let (phone, laptop, older) = try await pair()
        let tablet = try Device(cloud, "tablet")
        try await tablet.sync()
        try await phone.note("a", "two")
        for device in [phone, tablet] { try await device.sync() }
        try await phone.note("a", "three")
        for device in [phone, laptop] { try await device.sync() }
        let newest = cloud.snapshot()
        cloud.rollBack(to: older)
        // The tablet sends "two" after the laptop has read "one" and before it sends "three".
        let turn = OneTime()
        laptop.service.beforeRequest = { request throws(ServiceError) in
            guard request.kind == .modify, turn.take() else { return }
            _ = try? await tablet.sync()
        }
        for _ in 0..<2 { try await laptop.sync() }
        laptop.service.beforeRequest = nil
        #expect(try laptop.titles()["a"] == "two")
        cloud.rollBack(to: newest)
        for _ in 0..<2 {
            for device in [laptop, tablet, phone] { try await device.sync() }
        }
        for device in [laptop, tablet, phone] {
            #expect(try device.titles() == ["a": "three", "b": "one"])
            try await device.expectSettled()
        }
        #expect(remote(cloud) == ["Note a {title: three}", "Note b {title: one}"])
    }

    @Test func `what another device had heard of is sent again by it`() async throws {
        let (phone, laptop, older) = try await pair()
        try await phone.note("a", "two")
        try await phone.note("later", "one")
        try await phone.sync()
        try await laptop.sync()
        cloud.rollBack(to: older)
        try await expectSame([laptop], ["a": "two", "b": "one", "later": "one"])
        try await expectSame([laptop, phone], ["a": "two", "b": "one", "later": "one"])
    }

    // The list of all records has the deletion of the record that had this name before.
    @Test(arguments: [false, true])
    func `a deletion from before a record was made again does not end it`(
        isHeard: Bool
    ) async throws {
        let (phone, older) = try await remade()
        try await phone.sync()
        var devices = [phone]
        if isHeard {
            let laptop = try Device(cloud, "laptop")
            try await laptop.sync()
            devices.insert(laptop, at: 0)
        }
        cloud.rollBack(to: older)
        #expect(remote(cloud) == ["Note b {title: one}"])
        try await expectSame(devices, ["a": "again", "b": "one"])
    }

    @Test func `a deletion from before does not end what was edited since`() async throws {
        let (phone, older) = try await remade()
        try await phone.sync()
        try await phone.note("a", "edited")
        cloud.rollBack(to: older)
        try await expectSame([phone], ["a": "edited", "b": "one"])
    }

    @Test func `a deletion that is lost is undone`() async throws {
        let (phone, laptop, older) = try await pair()
        try await phone.delete(Note.ID("b"))
        try await phone.sync()
        cloud.rollBack(to: older)
        try await expectSame([phone, laptop], ["a": "one", "b": "one"])
    }

    @Test func `a deletion that is not lost ends the record where nothing is lost`() async throws {
        let phone = try await Device.withNotes(cloud)
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        try await laptop.delete(Note.ID("b"))
        try await laptop.sync()
        let older = cloud.snapshot()
        try await laptop.note("c", "lost")
        try await laptop.sync()
        cloud.rollBack(to: older)
        try await phone.sync()
        #expect(try phone.titles() == ["a": "one"])
        try await expectSame([laptop, phone], ["a": "one", "c": "lost"])
    }

    @Test func `a record that another device made again under the name is one for both`()
        async throws
    {
        let (phone, laptop, older) = try await pair()
        try await phone.note("x", "of the phone")
        try await phone.sync()
        cloud.rollBack(to: older)
        try await laptop.note("x", "of the laptop")
        try await laptop.sync()
        // Nothing was edited on the phone since, so that what the service has by now counts.
        try await expectSame([phone, laptop], ["a": "one", "b": "one", "x": "of the laptop"])
    }

    @Test func `edits that wait are pushed with what is lost`() async throws {
        let phone = try await Device.withNotes(cloud)
        let older = cloud.snapshot()
        try await phone.note("later", "one")
        try await phone.sync()
        try await phone.note("later", "two")
        try await phone.note("b", "mine")
        try await phone.note("new", "mine")
        try await phone.delete(Note.ID("a"))
        cloud.rollBack(to: older)
        try await phone.sync()
        #expect(try phone.titles()["later"] == "two")
        #expect(try phone.titles()["b"] == "mine")
        #expect(try phone.titles()["new"] == "mine")
        try await expectSame([phone], ["b": "mine", "later": "two", "new": "mine"])
    }

    @Test func `tokens that expire after it hide nothing`() async throws {
        let phone = try await Device.withNotes(cloud)
        let older = cloud.snapshot()
        try await phone.note("later", "one")
        try await phone.sync()
        cloud.rollBack(to: older)
        cloud.expireTokens(of: scenarioZone)
        cloud.expireDatabaseTokens()
        try await expectSame([phone], ["a": "one", "b": "one", "later": "one"])
    }

    // The token expired between the last pull and the push: in the state before, or behind it.
    @Test(arguments: [false, true])
    func `what was pushed with an expired token is sent again`(isInOlder: Bool) async throws {
        let phone = try await Device.withNotes(cloud)
        for _ in 0..<2 { try await phone.sync() }
        let before = cloud.snapshot()
        cloud.forgetTombstones(of: scenarioZone)
        let older = isInOlder ? cloud.snapshot() : before
        try await phone.note("later", "one")
        try await phone.delete(Note.ID("b"))
        cloud.clearRequests()
        try await phone.sync()
        // The service does not say that the zone changed, so that the feed is not read.
        #expect(!cloud.requests.map(\.kind).contains(.zoneChanges))
        #expect(remote(cloud) == ["Note a {title: one}", "Note later {title: one}"])
        cloud.rollBack(to: older)
        try await expectSame([phone], ["a": "one", "b": "one", "later": "one"])
    }

    @Test func `a full fetch without a token deletes nothing that the service lost`() async throws {
        let (phone, older) = try await remade()
        try await phone.note("later", "one")
        try await phone.sync()
        cloud.rollBack(to: older)
        try await phone.engine.resync(from: .server)
        try await expectSame([phone], ["a": "again", "b": "one", "later": "one"])
    }

    @Test func `a full fetch that was cut off before deletes nothing that the service lost`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        let older = cloud.snapshot()
        try await phone.note("later", "one")
        try await phone.sync()
        cloud.expireTokens(of: scenarioZone)
        phone.service.inject(ScriptedFault(.errorNetwork, on: .zoneChanges, skip: 1))
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try phone.store.info().zones.map(\.isFullFetch) == [true])
        cloud.rollBack(to: older)
        let restarted = await phone.restarted()
        try await expectSame([restarted], ["a": "one", "b": "one", "later": "one"])
    }

    @Test(arguments: [false, true])
    func `a full fetch still deletes what was deleted`(isListed: Bool) async throws {
        let phone = try await Device.withNotes(cloud)
        try cloud.remove("b", in: scenarioZone)
        if isListed {
            cloud.expireTokens(of: scenarioZone)
        } else {
            cloud.forgetTombstones(of: scenarioZone)
        }
        try await expectSame([phone], ["a": "one"])
    }

    @Test func `a record that is deleted after a full fetch listed it is deleted`() async throws {
        cloud.limits.recordsPerPage = 1
        let phone = try await Device.withNotes(cloud)
        cloud.expireTokens(of: scenarioZone)
        let cloud = cloud
        let pages = Countdown(3)
        phone.service.beforeReply = { info throws(ServiceError) in
            // After the first page of the list, which follows the refusal of the token.
            guard info.kind == .zoneChanges, pages.take() == 2 else { return }
            try cloud.remove("a", in: scenarioZone)
        }
        try await phone.sync()
        phone.service.beforeReply = nil
        try await expectSame([phone], ["b": "one"])
    }

    @Test(arguments: Array(0..<12))
    func `it may happen between any two requests of a round`(requests: Int) async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.delete(Note.ID("b"))
        try await phone.sync()
        let older = cloud.snapshot()
        try await phone.note("b", "again")
        try await phone.sync()
        try await phone.note("a", "two")
        try await phone.note("c", "one")
        cloud.rollBack(to: older, afterRequests: requests)
        try await phone.sync()
        try await phone.sync()
        cloud.performRollback()
        try await expectSame([phone], ["a": "two", "b": "again", "c": "one"])
    }
}
