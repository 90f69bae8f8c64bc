import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// Replies that come when their engine was stopped and another one goes on.
@Suite(.budgeted) struct LateReplyTests {
    let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 5))

    /// What a store has besides what the application wrote.
    private func everything(_ store: Store) throws -> [String] {
        try store.read { transaction in
            var lines = ["\(try transaction.reader.zoneState(scenarioZone.zoneName))"]
            try transaction.reader.log.visit(from: 1) { operation in
                lines.append("\(operation.sequence) \(operation.kind) \(operation.origin)")
                return true
            }
            return lines
        }
    }

    /// Keeps the reply to the next request of a kind.
    private func keepReply(
        to kind: RequestKind, of service: SimulatedRecordService
    ) -> Gate {
        let gate = Gate()
        let first = OneTime()
        service.beforeReply = { info throws(ServiceError) in
            if info.kind == kind, first.take() { await gate.keep() }
        }
        return gate
    }

    private func write(_ names: some Sequence<Int>, _ title: String) throws {
        for name in names {
            try cloud.write(
                "n\(name)", type: "Note", fields: ["title": .string(title)], in: scenarioZone)
        }
    }

    // The page moved the token past what the full fetch of the next engine had not seen yet, and the
    // sweep at its end deleted that.
    @Test(arguments: 1...6)
    func `a page for an engine that was stopped deletes nothing that the next one fetches`(
        request: Int
    ) async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try write(0..<40, "one")
        try await phone.sync()
        try write(20..<25, "two")
        let gate = keepReply(to: .zoneChanges, of: phone.service)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        let next = await phone.restarted()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        let requests = Locked(0)
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .zoneChanges else { return }
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            guard number == request else { return }
            gate.open()
            await phone.engine.untilEnded()
        }
        try await next.engine.resync(from: .server)
        #expect(try next.all(Note.self).count == 40)
        #expect(requests.withLock { $0 } >= 8)
        try await next.expectEqualToFresh(cloud)
    }

    @Test(arguments: [
        RequestKind.currentUser, .createZone, .createSubscription, .databaseChanges, .zoneChanges,
        .modify,
    ])
    func `a reply to an engine that was stopped changes nothing`(kind: RequestKind) async throws {
        let phone = try Device(cloud)
        let other = try Device(cloud, "other")
        try await other.sync()
        try write(0..<12, "one")
        try await phone.note("mine", "one")
        let gate = keepReply(to: kind, of: phone.service)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        let next = await phone.restarted()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        try await next.sync()
        try await other.sync()
        try await other.note("n1", "two")
        try await other.sync()
        try await next.sync()
        let before = try everything(next.store)
        gate.open()
        await phone.engine.untilEnded()
        #expect(try everything(next.store) == before)
        try await next.expectEqualToFresh(cloud)
    }

    @Test func `what an engine that was stopped wanted to fetch again comes to nobody`()
        async throws
    {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.store.write { _ = try $0.evict(Note.ID("a")) }
        let gate = keepReply(to: .lookup, of: phone.service)
        let call = Task { try await phone.engine.fetchAgain([Note.ID("a")]) }
        await gate.arrival()
        let next = await phone.restarted()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        try await next.sync()
        let before = try everything(next.store)
        gate.open()
        await phone.engine.untilEnded()
        #expect(try everything(next.store) == before)
        #expect(try next.titles() == [:])
        #expect(try await next.engine.fetchAgain([Note.ID("a")]) == 1)
        #expect(try next.titles() == ["a": "one"])
        try await next.expectEqualToFresh(cloud)
    }

    @Test func `a reset that was stopped does not forget what the next engine has done`()
        async throws
    {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        let gate = keepReply(to: .deleteZone, of: phone.service)
        let call = Task { try await phone.engine.resetRemote() }
        await gate.arrival()
        let next = await phone.restarted()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        // It was begun, and is carried through.
        try await next.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        let before = try everything(next.store)
        gate.open()
        await phone.engine.untilEnded()
        #expect(try everything(next.store) == before)
        try await next.expectEqualToFresh(cloud)
    }

    // Nothing of the lease is left when somebody removes its file: the store itself has to tell.
    @Test func `another process that does not see the lease is safe from late replies`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory.path + "/late-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let phone = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        defer { phone.store.close() }
        try await phone.sync()
        try write(0..<40, "one")
        try await phone.sync()
        try write(20..<25, "two")
        let gate = keepReply(to: .zoneChanges, of: phone.service)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        try FileManager.default.removeItem(atPath: path + "/sync.lock")
        let other = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        defer { other.store.close() }
        let third = Countdown(3)
        other.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .zoneChanges, third.take() == 3 else { return }
            gate.open()
            await phone.engine.untilEnded()
        }
        try await other.engine.resync(from: .server)
        #expect(await syncError { _ = try await call.value }?.code == .standby)
        #expect(phone.engine.status == .standby)
        try await other.expectEqualToFresh(cloud)
    }

    @Test func `another process goes on once the request has ended`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/late-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let phone = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        defer { phone.store.close() }
        let other = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        defer { other.store.close() }
        try await phone.note("a", "one")
        let gate = keepReply(to: .modify, of: phone.service)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        await phone.engine.stop()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        #expect(await syncError { try await other.sync() }?.code == .standby)
        gate.open()
        await phone.engine.untilEnded()
        try await other.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        try await other.expectSettled()
    }

    @Test func `an engine that nobody holds keeps its turn until its request has ended`()
        async throws
    {
        var phone: Device? = try Device(cloud)
        let (store, service) = try (#require(phone?.store), #require(phone?.service))
        try await phone?.note("a", "one")
        let gate = keepReply(to: .modify, of: service)
        let call = Task { [engine = try #require(phone?.engine)] in try await engine.sync() }
        await gate.arrival()
        phone = nil
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        let next = Device(store: store, service: service)
        #expect(await syncError { try await next.sync() }?.code == .standby)
        gate.open()
        while await syncError({ try await next.sync() })?.code == .standby {
            await Task.yield()
        }
        #expect(next.engine.status == .idle)
        try await next.expectSettled()
    }
}
