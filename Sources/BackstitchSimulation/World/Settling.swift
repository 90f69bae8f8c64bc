import Backstitch
import BackstitchStore
import BackstitchSync
import BackstitchTesting

/// Ends all trouble, and lets the devices exchange until nothing changes any more.
struct Settling {
    let devices: SimulatedDevices
    let cloud: SimulatedCloud
    let clock: ManualClock
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine
    let moves: ZoneMoves
    let engines: EngineTroubles

    private static let roundsMax = 60

    func run() async throws {
        story.note("all faults end")
        try await engines.deliverReplies(all: true)
        for index in devices.indices {
            devices[index].service.beforeRequest = nil
            devices[index].service.beforeReply = nil
            devices[index].duringTransfer = nil
            devices[index].service.endFaults()
            devices[index].store.setCommitFault(nil)
            devices[index].offlineUntil = 0
        }
        cloud.performRollback()
        cloud.performLateRequests()
        for index in devices.indices where devices[index].selection != .all {
            try await routine.reopen(index, selection: .all)
        }
        try await moves.moveBack()
        var retried: Set<Retry> = []
        for round in 1...Self.roundsMax {
            story.step += 1
            var isChanged = false
            for index in devices.indices {
                clock.advance(milliseconds: 60_000)
                isChanged = try await exchangeOnce(index) || isChanged
            }
            if !isChanged {
                try checkNothingWaits()
                if try await release(&retried) == 0 { return }
            }
            if round == Self.roundsMax {
                throw story.failure("The devices don't settle", try checks.unsettled())
            }
        }
    }

    /// Once nothing changes any more, only parked records are unsynced: they never keep others.
    private func checkNothingWaits() throws {
        for device in devices.all where try device.engine.pending().pendingRecords > 0 {
            throw story.failure("\(device.name) leaves records waiting", try checks.unsettled())
        }
    }

    private func exchangeOnce(_ index: Int) async throws -> Bool {
        story.result.rounds += 1
        do {
            let report = try await devices[index].engine.sync()
            try routine.endReset(index)
            story.note("\(devices[index].name) exchanged: \(report.summary)")
            // Records that could not be delivered are looked up until two answers agree. One that is
            // parked has to be tried again before.
            let isMissing = try devices[index].store.read {
                try UndeliveredRecords.count($0.reader) > 0
            }
            let asksAgain = try isMissing && devices[index].engine.parked().isEmpty
            return report.pulledRecords + report.pushedRecords + report.conflicts
                + report.parkedRecords > 0 || asksAgain || !report.changes.isEmpty
        } catch let error as SyncError {
            story.note("\(devices[index].name) exchanged: \(error)")
            if error.code == .suspended { try await routine.resume(index) }
            if error.isOfStore {
                throw story.failure("A store failed in an exchange", ["\(error)"])
            }
            // What it has is exchanged by another process.
            return error.code != .standby
        }
    }

    /// A record that was tried again on a device, for what it was parked for.
    private struct Retry: Hashable {
        let device: Int
        let record: RecordID
        let code: ServiceError.Code?
    }

    /// Tries parked records again, and gives up those that are parked for the same once more.
    ///
    /// - Returns: How many there were.
    private func release(_ retried: inout Set<Retry>) async throws -> Int {
        var count = 0
        for index in devices.indices {
            let name = devices[index].name
            for record in try devices[index].engine.parked() {
                count += 1
                let retry = Retry(device: index, record: record.record, code: record.code)
                if retried.insert(retry).inserted {
                    story.note("\(name) retries \(record.record.name): \(record.reason)")
                    try await devices[index].engine.retryParked([record])
                } else {
                    try checkFilesAreGone(record, index)
                    story.note("\(name) discards \(record.record.name): \(record.reason)")
                    try await devices[index].engine.discardParked([record])
                }
            }
        }
        return count
    }

    /// A record is given up for its files only if the device does not have one of them, or can't know that it
    /// does: a service's checksum tells nothing of a content that never came from there or went there.
    private func checkFilesAreGone(_ parked: ParkedRecord, _ index: Int) throws {
        guard parked.code == .assetMissing else { return }
        let store = devices[index].store
        let id = SimulatedPhoto.ID(parked.record.name.description)
        let photo = try store.read { try $0.find(id) }
        let assets = [photo?.image].compactMap(\.self) + (photo?.pages ?? [])
        let here = Set(store.assets.folder.contents.map(\.text))
        let isGone = try store.read { transaction in
            try assets.contains { asset in
                let content = try transaction.reader.meta.content(of: asset)
                return content.map { !here.contains($0.text) } ?? true
            }
        }
        guard assets.isEmpty || isGone else {
            throw story.failure(
                "\(devices[index].name) gives up a record whose files it has", ["\(parked)"])
        }
    }
}
