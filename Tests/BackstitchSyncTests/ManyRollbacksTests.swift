import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing
import Threading

/// Devices that save and exchange while the service is put back to older states again and again, by random
/// steps that follow from a seed.
///
/// Each device has records that it alone saves. After each tenth round all devices have to agree, and each
/// such record has to have the value that was saved last.
@Suite(.budgeted) struct ManyRollbacksTests {
    private static let first = UInt64(Load.count("HISTORIES_FROM", else: 224))
    private static let count = UInt64(Load.count("HISTORIES", else: 8))

    @Test func `no saved value is lost`() async throws {
        for seed in Self.first..<(Self.first + Self.count) {
            let history = try RollbackHistory(seed: seed)
            guard let loss = try await history.run(rounds: 30) else { continue }
            let told = try RollbackHistory(seed: seed, following: loss.name)
            _ = try await told.run(rounds: 30)
            Issue.record("Seed \(seed): \(loss.description)\n\(told.story)")
        }
    }
}

/// The run of one seed.
private final class RollbackHistory: Sendable {
    private struct State {
        var chance: SeededGenerator
        /// How many requests are answered before the service is away, and whether the last one is carried out.
        var answered = Int.max
        /// The same for one device.
        var killed: (device: String, after: Int)?
        var waiting: [Device] = []
        var story: [String] = []
    }

    private let cloud = SimulatedCloud()
    private let devices: [Device]
    private let state: Locked<State>

    /// The record whose values are told.
    private let followed: String?

    init(seed: UInt64, following followed: String? = nil) throws {
        self.followed = followed
        state = Locked(State(chance: SeededGenerator(seed: seed)))
        let cloud = cloud
        devices = try ["ada", "ben", "cat"].map { try Device(cloud, $0) }
    }

    private func below(_ limit: Int) -> Int {
        state.withLock { Int.random(in: 0..<limit, using: &$0.chance) }
    }

    private func chance(_ probability: Double) -> Bool {
        state.withLock { $0.chance.fraction() < probability }
    }

    /// What happened, if a record is followed.
    var story: String { state.withLock { $0.story.joined(separator: "\n") } }

    private func tell(_ line: @autoclosure () -> String) {
        guard followed != nil else { return }
        let line = line()
        state.withLock { $0.story.append(line) }
    }

    /// Tells the versions of the followed record on a device and at the service.
    private func tellValue(on device: Device) throws {
        guard let followed else { return }
        let entries = try device.store.read {
            try $0.history(of: RecordID(entity: "Note", name: followed))
        }
        let versions = entries.map { entry in
            "\(entry.sequence) \(entry.kind) \(entry.origin) \(entry.values?["title"] ?? .null)"
        }
        tell("    \(versions.joined(separator: ", "))")
        tell("    service: " + (remote(cloud).first { $0.contains(" \(followed) ") } ?? "none"))
    }

    struct Loss: CustomStringConvertible {
        var name: String
        var description: String
    }

    func run(rounds: Int) async throws -> Loss? {
        for device in devices { watch(device) }
        var own: [String: String] = [:]
        var saved = 0
        for device in devices { try await device.sync() }
        var copies = [cloud.snapshot()]
        for round in 1...rounds {
            tell("-- round \(round)")
            for device in devices where chance(0.8) {
                for _ in 0...below(4) {
                    saved += 1
                    let value = "\(device.service.device) \(saved)"
                    let isShared = chance(0.3)
                    let name =
                        isShared ? "shared \(below(2))" : "\(device.service.device)-\(below(5))"
                    if !isShared { own[name] = value }
                    try await device.note(name, value)
                    if name == followed { tell("save \(name) = \(value)") }
                }
            }
            if chance(0.3) {
                tell("copy")
                copies.append(cloud.snapshot())
                if copies.count > 3 { copies.removeFirst() }
            }
            let (answered, killed) = (below(40), below(12))
            let (kills, victim) = (chance(0.4), devices[below(devices.count)].service.device)
            let cuts = chance(0.6)
            let waiting = shuffledDevices().filter { _ in chance(0.8) }
            state.withLock { state in
                state.answered = cuts ? answered : .max
                state.killed = kills ? (victim, killed) : nil
                state.waiting = waiting
            }
            while let device = next() { await sync(device) }
            state.withLock { ($0.answered, $0.killed) = (.max, nil) }
            if round % 2 == 0 {
                let number = below(copies.count)
                cloud.rollBack(to: copies[number])
                tell("roll back to copy \(number) of \(copies.count)")
            } else {
                cloud.rollBack(to: cloud.snapshot())
            }
            if round % 10 == 0, let problem = try await converge(own) {
                return problem
            }
        }
        return nil
    }

    private func shuffledDevices() -> [Device] {
        state.withLock { devices.shuffled(using: &$0.chance) }
    }

    private func next() -> Device? { state.withLock { $0.waiting.popLast() } }

    private func sync(_ device: Device) async {
        tell("\(device.service.device) begins")
        let fresh = await device.restarted()
        do {
            _ = try await fresh.engine.sync()
            tell("\(device.service.device) ends")
        } catch {
            tell("\(device.service.device) fails")
        }
        await fresh.engine.stop()
        do { try tellValue(on: device) } catch { tell("\(error)") }
    }

    /// Makes requests fail as the plan of the round says, and begins others within one.
    private func watch(_ device: Device) {
        let name = device.service.device
        device.service.beforeRequest = { [self] request throws(ServiceError) in
            if chance(0.1), let other = next() { await sync(other) }
            try fail(name, isReply: false)
        }
        device.service.beforeReply = { [self] request throws(ServiceError) in
            tell("  \(name) \(request.kind)")
            try fail(name, isReply: true)
        }
    }

    private func fail(_ name: String, isReply: Bool) throws(ServiceError) {
        let isLost = state.withLock { state in
            state.answered -= state.answered == .max ? 0 : 1
            if let killed = state.killed, killed.device == name {
                state.killed?.after -= 1
                if killed.after <= 0 { return true }
            }
            return state.answered <= 0
        }
        if isLost {
            tell("  \(name) \(isReply ? "hears nothing" : "sends nothing")")
            throw ServiceError(.network)
        }
    }

    private func converge(_ own: [String: String]) async throws -> Loss? {
        var titles: [[String: String]] = []
        for _ in 0..<12 {
            for device in devices { await sync(device) }
            titles = try devices.map { try $0.titles() }
            let left = try devices.map { try $0.engine.pending().pendingRecords }
            if left.allSatisfy({ $0 == 0 }), titles.allSatisfy({ $0 == titles[0] }) { break }
        }
        for (device, titles) in zip(devices, titles) {
            for (name, value) in own where titles[name] != value {
                return Loss(
                    name: name,
                    description: "\(name) was saved as \(value), and \(device.service.device) has "
                        + (titles[name] ?? "nothing"))
            }
        }
        for (name, title) in titles[0].sorted(by: { $0.key < $1.key }) {
            for (device, others) in zip(devices, titles) where others[name] != title {
                return Loss(name: name, description: "\(device.service.device) differs in \(name)")
            }
        }
        return nil
    }
}
