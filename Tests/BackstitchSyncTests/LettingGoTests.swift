import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

/// Calls that are let go while the service does not answer. A call that is not would hang.
@Suite(.budgeted) struct LettingGoTests {
    let cloud = SimulatedCloud()
    let clock = ManualClock()

    private func device() throws -> Device {
        try Device(cloud) { [clock] in $0.clock = clock }
    }

    /// Keeps the next request to change records, before the service has it or after.
    private func keepPush(of phone: Device, isDone: Bool = true) -> Gate {
        let gate = Gate()
        let first = OneTime()
        let hook: SimulatedRecordService.Hook = { info throws(ServiceError) in
            if info.kind == .modify, first.take() { await gate.keep() }
        }
        if isDone { phone.service.beforeReply = hook } else { phone.service.beforeRequest = hook }
        return gate
    }

    @Test func `stopping lets every call go`() async throws {
        let phone = try device()
        let engine = phone.engine
        try await phone.note("a", "one")
        let last = try phone.store.read { try $0.reader.log.head }
        let gate = keepPush(of: phone)
        let calls: [@Sendable () async throws -> Void] = [
            { try await engine.start() }, { try await engine.sync() },
            { try await engine.waitUntilCaughtUp() },
            { _ = try await engine.waitUntilSynced(operation: last) },
            { try await engine.waitUntilSynced() },
            { try await engine.resync(from: .server) }, { try await engine.resetLocal() },
            { try await engine.resetRemote() }, { try await engine.destroyZone() },
            { try await engine.fetchAgain([Note.ID("a")]) },
        ]
        let ends = Locked<[SyncError.Code?]>([])
        let tasks = calls.map { call in
            Task {
                let code = await syncError(call)?.code
                ends.withLock { $0.append(code) }
            }
        }
        await gate.arrival()
        for _ in 0..<100 { await Task.yield() }
        #expect(ends.withLock { $0 } == [])
        await engine.stop()
        for task in tasks { await task.value }
        #expect(ends.withLock { $0 } == calls.map { _ in .stopped })
        #expect(engine.status == .stopped)
        #expect(await syncError { try await engine.sync() }?.code == .stopped)
        // Only now the service answers.
        gate.open()
        await engine.untilEnded()
        #expect(clock.sleeperCount == 0)
        let next = await phone.restarted()
        try await next.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        try await next.expectSettled()
    }

    @Test(arguments: [false, true])
    func `a cancelled call returns, and what its request did is found out`(
        isDone: Bool
    ) async throws {
        let phone = try device()
        let engine = phone.engine
        try await phone.note("a", "one")
        let gate = keepPush(of: phone, isDone: isDone)
        let call = Task { try await engine.sync() }
        await gate.arrival()
        let joined = Task { try await engine.sync() }
        for _ in 0..<100 { await Task.yield() }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        joined.cancel()
        await #expect(throws: CancellationError.self) { try await joined.value }
        // The next one waits for the request: one is under way at a time.
        try await phone.note("a", "two")
        let later = Task { try await engine.sync() }
        for _ in 0..<100 { await Task.yield() }
        #expect(cloud.requestCounts[.modify, default: 0] == (isDone ? 1 : 0))
        gate.open()
        #expect(try await later.value.conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: two}"])
        // Two requests, and none for what the service had.
        #expect(cloud.requestCounts[.modify] == 2)
        #expect(engine.status == .idle)
        try await phone.expectSettled()
    }

    @Test func `a cancelled round sends nothing more`() async throws {
        let phone = try Device(SimulatedCloud(limits: ServiceLimits(operationsPerRequest: 1)))
        for name in ["a", "b", "c"] { try await phone.note(name, "one") }
        let gate = keepPush(of: phone)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        await phone.engine.untilEnded()
        #expect(try phone.engine.pending().pendingRecords == 2)
        #expect(phone.engine.status == .idle)
        #expect(try await phone.sync().pushedRecords == 2)
    }

    @Test func `a started engine goes on without the call that was cancelled`() async throws {
        let phone = try device()
        try await phone.engine.start()
        for name in ["a", "b"] { try await phone.note(name, "one") }
        let gate = keepPush(of: phone)
        let call = Task { try await phone.sync() }
        await gate.arrival()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        await phone.engine.untilEnded()
        try await phone.expectSettled()
        await phone.engine.stop()
    }

    @Test func `a request that ends because its call was cancelled is no failure`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        let gate = Gate()
        let first = OneTime()
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            gate.open()
            await gate.keep()
            while !Task.isCancelled { await Task.yield() }
            throw ServiceError(.network, "cancelled")
        }
        let call = Task { try await phone.sync() }
        await gate.arrival()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await phone.engine.untilEnded()
        #expect(phone.engine.status == .idle)
        #expect(await phone.engine.nextAttemptMilliseconds == nil)
        try await phone.sync()
        #expect(remote(cloud).count == 1)
    }

    @Test func `a resolver whose call was cancelled decides nothing`() async throws {
        let gate = Gate()
        let phone = try await Device.withBase(cloud) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in
                gate.open()
                await gate.keep()
                while !Task.isCancelled { await Task.yield() }
                throw CancellationError()
            }
            $0.resolverMilliseconds = nil
        }
        try cloud.editNote(["title": .string("theirs")])
        try await phone.note("a", "mine", body: "base")
        let call = Task { try await phone.sync() }
        await gate.arrival()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        await phone.engine.untilEnded()
        #expect(try phone.engine.parked() == [])
        #expect(try phone.titles() == ["a": "mine"])
    }

    @Test func `a notification that a cancelled round was to serve leads to another one`()
        async throws
    {
        let phone = try device()
        try await phone.note("a", "one")
        phone.service.failNext(with: .lostRequest)
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        let gate = keepPush(of: phone)
        // It waits for what the failure asks for, and is covered by the call.
        await phone.engine.accountChanged()
        let call = Task { try await phone.sync() }
        await gate.arrival()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        await phone.engine.untilEnded()
        #expect(await phone.engine.nextAttemptMilliseconds != nil)
        await phone.engine.stop()
    }

    // The round that was cancelled had covered it, and it was forgotten.
    @Test func `news that came before a cancelled round lead to another one`() async throws {
        let phone = try device()
        let engine = phone.engine
        try await phone.note("a", "one")
        let gates = [Gate(), Gate()]
        let rounds = Countdown(2)
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .databaseChanges, let round = rounds.take() else { return }
            await gates[round - 1].keep()
        }
        let events = RoundEnds(engine)
        let call = Task { try await phone.sync() }
        await gates[0].arrival()
        await engine.accountChanged()
        let joined = Task { try await phone.sync() }
        for _ in 0..<100 { await Task.yield() }
        gates[0].open()
        _ = try await call.value
        await gates[1].arrival()
        joined.cancel()
        await #expect(throws: CancellationError.self) { try await joined.value }
        gates[1].open()
        #expect(await events.next() == "finished manual")
        #expect(await events.next() == "failed cancelled")
        #expect(await events.next() == "finished start")
        await engine.stop()
    }

    // It went on trying for ever.
    @Test func `an engine ends with its store`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        phone.service.inject(ScriptedFault(.lostRequest, for: .untilCleared))
        try await phone.engine.start()
        #expect(await events.next() == "failed unreachable")
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
        phone.store.close()
        clock.advanceToNextWake()
        #expect(await events.next() == "failed stopped")
        await phone.engine.untilEnded()
        #expect(phone.engine.status == .stopped)
        #expect(clock.sleeperCount == 0)
        #expect(await phone.engine.nextAttemptMilliseconds == nil)
        for call in [
            { try await phone.engine.sync() }, { try await phone.engine.resync(from: .server) },
        ] {
            let error = await syncError { _ = try await call() }
            #expect(error?.code == .stopped)
            #expect(error?.message.contains("store was closed") == true)
        }
        #expect(await syncError { try await phone.engine.start() }?.code == .stopped)
    }

    @Test func `an engine on a store that is closed already does not start`() async throws {
        let phone = try device()
        phone.store.close()
        #expect(await syncError { try await phone.engine.start() }?.code == .stopped)
        #expect(phone.engine.status == .stopped)
    }
}
