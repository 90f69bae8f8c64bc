import Backstitch
import BackstitchStore
import BackstitchTesting
import Foundation

/// What happens to the files of devices and of the service.
struct FileEvents {
    let devices: SimulatedDevices
    let choices: StepChoices
    let cloud: SimulatedCloud
    let story: SimulationStory
    let checks: StoreChecks
    let files: FileChecks
    let routine: DeviceRoutine

    func perform(_ action: FileAction, _ index: Int) async throws {
        guard !devices[index].isCrashed else { return }
        do {
            try await act(action, index)
        } catch let error as SimulationFailure {
            throw error
        } catch {
            guard devices[index].isCrashed || routine.isFullDisk(error, index) else { throw error }
        }
        try await routine.restartCrashed()
    }

    private func act(_ action: FileAction, _ index: Int) async throws {
        switch action {
        case .open, .hold: try await open(index, holds: action == .hold)
        case .add: try await add(index)
        case .evict: try await evict(index)
        case .collect: try await collect(index)
        case .undo: try await undo(index)
        case .collectOnService:
            cloud.collectFiles()
            story.note("the service collects files")
        case .expireReceipts:
            cloud.expireReceipts()
            for device in devices.all { device.home.ledger.forget() }
            story.count(.receiptsExpire)
            story.note("all receipts end")
        case .expireAddresses:
            cloud.expireAddresses()
            story.count(.addressesExpire)
            story.note("all addresses end")
        }
    }

    /// Has one of the next transfers of a device go wrong.
    func cut(_ trouble: TransferTrouble, _ index: Int) {
        let fault: TransferFault =
            switch trouble.kind {
            case .cut: .cut(afterBytes: trouble.bytes)
            case .lostReply: .lostReply
            case .refused: .error(.permissionDenied)
            case .busy: .error(.serviceUnavailable)
            }
        if trouble.isUpload {
            // No service refuses the address of an upload for ever.
            let isRefusal = trouble.kind == .refused
            devices[index].service.failUploads([isRefusal ? .error(.network) : fault])
        } else {
            devices[index].service.failDownloads([fault])
        }
        story.count(trouble.isUpload ? .uploadCut : .downloadCut)
        story.note("\(devices[index].name): \(trouble)")
    }

    // MARK: Devices

    private func open(_ index: Int, holds: Bool) async throws {
        let device = devices[index]
        let held = try FileChecks.held(in: device.store)
        guard !held.isEmpty, devices.isOnline(index),
            devices.exchanging.isDisjoint(with: devices.processes(on: index))
        else { return }
        // Its lookups go beside rounds, which is watched for.
        let processes = devices.processes(on: index)
        devices.exchanging.formUnion(processes)
        defer { devices.exchanging.subtract(processes) }
        let asset = choices.generator.pick(held)
        let content = SimulatedContent.hash(of: asset)
        do {
            let reader = try await device.store.assets.open(asset)
            try files.check(reader, content, device.name)
            story.note("\(device.name) opens \(content.prefix(8))")
            guard holds else { return }
            device.home.readers.append((reader, content))
            if device.home.readers.count > 4 { device.home.readers.removeFirst() }
        } catch let error as StoreError where error.code == .assetCorrupt {
            throw story.failure(
                "\(device.name) gets other bytes than the record says", ["\(error)"])
        } catch let error as SimulationFailure {
            throw error
        } catch {
            story.note("\(device.name) can't open \(content.prefix(8)): \(error)")
        }
    }

    private func add(_ index: Int) async throws {
        let added = try await routine.addFiles(index, count: 1)
        devices[index].home.added += added
        story.note("\(devices[index].name) adds \(added.count) files that no record holds")
    }

    private func evict(_ index: Int) async throws {
        let account = try checks.checkedAccount(of: devices[index])
        devices[index].home.account = account
        let store = devices[index].store
        let target = Int64(choices.generator.pick([0, 0, 1_000, 10_000]))
        let usage = try await files.evicting(index, account) {
            try await store.assets.evict(downTo: target)
        }
        if usage.files > 0 { story.count(.fileEviction) }
        story.note("\(devices[index].name) evicts \(usage.files) files")
    }

    func collect(_ index: Int) async throws {
        let store = devices[index].store
        let usage = try await files.collecting(index) {
            try await store.assets.collect(addedBefore: .distantFuture)
        }
        if usage.files > 0 { story.count(.fileCollection) }
        story.note("\(devices[index].name) collects \(usage.files) files")
    }

    private func undo(_ index: Int) async throws {
        let store = devices[index].store
        let transactions = try store.read { transaction in
            var found: [UInt64] = []
            try transaction.reader.log.visit(from: 1) { operation in
                if operation.origin == .local { found.append(operation.transaction) }
                return true
            }
            return Array(Set(found).sorted().suffix(6))
        }
        guard !transactions.isEmpty else { return }
        let id = choices.generator.pick(transactions)
        do {
            let report = try await store.undo(transaction: id, .skippingChanged)
            story.note("\(devices[index].name) undoes \(id): \(report.undone.count)")
            story.count(.undo)
        } catch let error as StoreError {
            story.note("\(devices[index].name) can't undo \(id): \(error)")
        }
        try checks.checkClock(index)
    }
}
