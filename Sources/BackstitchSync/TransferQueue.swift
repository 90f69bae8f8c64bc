import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation
import Threading

/// Uploads and downloads the contents of files, beside the rounds that exchange records.
///
/// ``TransferMachine`` decides, and this performs.
actor TransferQueue: AssetProvider {
    /// One content on its way.
    enum Transfer: Hashable, Sendable {
        case upload(AssetUpload)
        case download(ContentKey)
    }

    /// What became of transfers.
    struct Ended {
        var well = 0
        var otherwise = 0
        /// The code of the last failure.
        var code: String?
    }

    private typealias Waiter = CheckedContinuation<Void, any Error>

    private let scope: EngineContext
    private let service: any RecordService
    private var machine: TransferMachine<Transfer>
    private var tasks: [Transfer: Task<Void, Never>] = [:]
    private var waiters: [Transfer: [Int: Waiter]] = [:]
    private var lastWaiter = 0
    private var timer: Task<Void, Never>?
    /// The files that downloads are for, by their contents.
    private var wanted: [ContentKey: Asset] = [:]
    /// Why a transfer failed that no service error tells.
    private var failures: [Transfer: any Error] = [:]
    private var isStopped = false
    private var ended: [TransferMachine<Transfer>.Lane: Ended] = [:]
    /// What runs after an upload that a record waits for.
    nonisolated let uploaded = AfterUpload()

    init(_ scope: EngineContext, _ service: any RecordService) {
        (self.scope, self.service) = (scope, service)
        machine = TransferMachine(transfersMax: scope.configuration.transfersMax)
    }

    private var store: Store { scope.store }
    private var folder: ContentFolder { store.assets.folder }

    /// Ends all transfers. What came so far stays, and is gone on with.
    func stop() {
        isStopped = true
        for task in tasks.values { task.cancel() }
        perform(machine.stop())
    }

    /// Returns once no transfer goes on. For tests.
    func untilEnded() async {
        while let task = tasks.values.first { await task.value }
    }

    // MARK: Asking

    /// Begins uploads that records wait for, and returns at once.
    func begin(_ uploads: [AssetUpload]) {
        guard !isStopped else { return }
        for upload in uploads { perform(machine.want(.upload(upload), in: .upload, .push)) }
    }

    /// Begins what a round found and what the configuration asks for, if the engine goes on by itself, and
    /// returns at once.
    nonisolated func goOn(after report: SyncReport, _ mode: EngineMachine.Mode) {
        guard mode == .automatic else { return }
        Task {
            await begin(report.uploads)
            await prefetch(by: scope.configuration.assetDownloads)
        }
    }

    /// The uploads before a next round: so few that their receipts are still good then, on slow lines too.
    private static func part(of uploads: [AssetUpload]) -> [AssetUpload] {
        var bytes: Int64 = 0
        return Array(
            uploads.prefix(partCountMax).prefix { upload in
                defer { bytes += upload.asset.byteCount }
                return bytes == 0 || bytes + upload.asset.byteCount <= partBytesMax
            })
    }

    private static let partCountMax = 64
    private static let partBytesMax: Int64 = 256 << 20

    /// Runs rounds until no record waits for a file, and uploads the files between them. Then downloads the
    /// values of external attributes, as far as they come.
    ///
    /// - Throws: What a round throws; the first failure of an upload, once all were tried.
    func exchange(
        _ round: @Sendable () async throws -> SyncReport
    ) async throws -> SyncReport {
        var report = try await round()
        var failures: [AssetUpload: any Error] = [:]
        var first: (any Error)?
        while true {
            let part = Self.part(of: report.uploads.filter { failures[$0] == nil })
            if part.isEmpty { break }
            let failed = try await upload(part)
            first = first ?? part.lazy.compactMap { failed[$0] }.first { !Self.isLimit($0) }
            failures.merge(failed) { $1 }
            // What was uploaded is pushed, whatever became of the others.
            if failed.count < part.count {
                report = try await round().following(report)
                // And makes room for others.
                failures = failures.filter { !Self.isLimit($0.value) }
            } else if (first as? ServiceError)?.code == .network {
                break
            }
        }
        if let first = first ?? failures.values.first {
            throw SyncError.failure(ofTransfer: first)
        }
        do {
            _ = try await download(by: .onDemand)
        } catch let error as SyncError where error.code != .stopped {
            // A record whose value did not come is not whole; all else was exchanged.
        }
        return report
    }

    /// Whether a service takes no more for now.
    private static func isLimit(_ error: any Error) -> Bool {
        (error as? ServiceError)?.code == .rateLimited
    }

    /// Uploads files, and waits for them.
    ///
    /// - Returns: The failures of those that were not uploaded, nor found to be none that can be.
    /// - Throws: `stopped` if the engine ended meanwhile; `CancellationError`.
    private func upload(
        _ uploads: [AssetUpload]
    ) async throws -> [AssetUpload: any Error] {
        let tasks = uploads.map { upload in
            Task { () -> (any Error)? in
                do {
                    try await run(.upload(upload), in: .upload)
                    return nil
                } catch {
                    return error
                }
            }
        }
        let failures = await withTaskCancellationHandler {
            var failures: [AssetUpload: any Error] = [:]
            for (upload, task) in zip(uploads, tasks) { failures[upload] = await task.value }
            return failures
        } onCancel: {
            for task in tasks { task.cancel() }
        }
        try Task.checkCancellation()
        if isStopped { throw SyncError.stopped }
        return failures
    }

    /// Downloads the content of a file; waits for a download that is under way.
    func provide(_ asset: Asset) async throws {
        guard let key = ContentKey(asset) else { return }
        wanted[key] = asset
        try await run(.download(key), in: .download)
    }

    /// Begins the downloads that a policy asks for, and returns at once.
    ///
    /// What can't be read or downloaded now is looked for again after the next round.
    func prefetch(by policy: SyncConfiguration.AssetDownloads) {
        guard !isStopped, let assets = try? policy.assets(in: store) else { return }
        for asset in assets {
            guard let key = ContentKey(asset) else { continue }
            wanted[key] = asset
            perform(machine.want(.download(key), in: .download, .prefetch))
        }
    }

    /// Downloads every file that a policy asks for and that is not here, and waits for that.
    ///
    /// - Returns: How many were downloaded.
    /// - Throws: The first failure, once all have ended.
    func download(by policy: SyncConfiguration.AssetDownloads) async throws -> Int {
        let assets = try policy.assets(in: store)
        let tasks = assets.map { asset in Task { try await provide(asset) } }
        return try await withTaskCancellationHandler {
            var results: [Result<Void, any Error>] = []
            for task in tasks { results.append(await task.result) }
            for case .failure(let error) in results { throw SyncError.failure(ofTransfer: error) }
            return results.count
        } onCancel: {
            for task in tasks { task.cancel() }
        }
    }

    private func run(_ transfer: Transfer, in lane: TransferMachine<Transfer>.Lane) async throws {
        try Task.checkCancellation()
        if isStopped { throw SyncError.stopped }
        lastWaiter += 1
        let number = lastWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: Waiter) in
                waiters[transfer, default: [:]][number] = waiter
                perform(machine.want(transfer, in: lane, .caller))
            }
        } onCancel: {
            Task { await self.letGo(number, of: transfer) }
        }
    }

    /// Answers a call whose task was cancelled. The transfer goes on: what came is kept.
    private func letGo(_ number: Int, of transfer: Transfer) {
        waiters[transfer]?.removeValue(forKey: number)?.resume(throwing: CancellationError())
    }

    // MARK: Performing

    private func perform(_ actions: [TransferMachine<Transfer>.Action]) {
        for action in actions {
            switch action {
            case .start(let transfer): start(transfer)
            case .tell(let transfer, let error): tell(transfer, error)
            case .setTimer(let due): setTimer(dueMilliseconds: due)
            }
        }
        if !actions.isEmpty {
            let lanes = TransferMachine<Transfer>.Lane.allCases.map { lane in
                EngineReport.Lane(lane, of: machine, ended[lane])
            }
            let now = scope.clock.milliseconds
            scope.recorder.withLock { $0.note(lanes, now: now) }
        }
    }

    private func start(_ transfer: Transfer) {
        tasks[transfer] = Task {
            var failure: (any Error)?
            do {
                switch transfer {
                case .upload(let upload): try await perform(upload)
                case .download(let key): try await download(key)
                }
            } catch {
                failure = error
            }
            ended(transfer, failure)
        }
    }

    private func ended(_ transfer: Transfer, _ failure: (any Error)?) {
        tasks[transfer] = nil
        failures[transfer] = failure
        let error = failure.map { failure in
            failure as? ServiceError ?? ServiceError(.invalidRequest, "\(failure)")
        }
        let clock = scope.clock
        if machine.state(of: transfer) != nil { note(error, of: transfer) }
        // A call for a round runs the next one by itself.
        let isForPush = machine.isForPush(transfer)
        perform(
            machine.ended(transfer, error, now: clock.milliseconds, random: clock.random()))
        failures[transfer] = nil
        if case .download(let key) = transfer, machine.state(of: transfer) == nil {
            wanted[key] = nil
        }
        if case .upload = transfer, failure == nil, isForPush { uploaded.run() }
    }

    private func note(_ error: ServiceError?, of transfer: Transfer) {
        let lane: TransferMachine<Transfer>.Lane =
            switch transfer {
            case .upload: .upload
            case .download: .download
            }
        if let error {
            ended[lane, default: Ended()].otherwise += 1
            ended[lane]?.code = error.code.description
        } else {
            ended[lane, default: Ended()].well += 1
        }
    }

    private func tell(_ transfer: Transfer, _ error: ServiceError?) {
        let waiting = waiters.removeValue(forKey: transfer) ?? [:]
        for waiter in waiting.values {
            if let error {
                waiter.resume(throwing: failures[transfer] ?? error)
            } else {
                waiter.resume()
            }
        }
    }

    private func setTimer(dueMilliseconds due: Int64?) {
        timer?.cancel()
        timer = nil
        guard let due else { return }
        let clock = scope.clock
        timer = Task { [weak self] in
            let wait = max(0, due - clock.milliseconds)
            do {
                try await clock.sleep(for: .milliseconds(wait))
            } catch {
                return
            }
            await self?.timerEnded()
        }
    }

    private func timerEnded() { perform(machine.timer(now: scope.clock.milliseconds)) }

    // MARK: Uploads

    private func perform(_ upload: AssetUpload) async throws {
        do {
            if let file = await rereferenced(upload) {
                return try await keep(file, of: upload, content: nil)
            }
            let content = try await here(upload.asset)
            let now = scope.clock.milliseconds
            let (isUploaded, address) = try store.read { transaction in
                let receipts = ReceiptReader(transaction.reader, upload.place, now: now)
                return (try receipts.isUploaded(upload), try receipts.address(of: upload))
            }
            // A list may hold a content by its hash and by the service's checksum, which are known to be
            // the same since one of the two was uploaded.
            if isUploaded { return }
            let file = try await recordService(of: upload).upload(
                folder.path(content), for: upload.field, in: upload.place.id, from: address,
                began: { await self.keep(address: $0, of: upload) },
                progress: progress(of: upload.asset, isUpload: true))
            if let sum = file.fileChecksum, ContentHash.isDigits(sum), sum != content.text {
                try await refute(content, of: upload)
            }
            try await keep(file, of: upload, content: content)
        } catch let error as ServiceError where !error.mayPass {
            // The record is told of it and parked, so that it waits for a person and not for ever.
            try await refuse(upload, error.description)
        } catch let error as StoreError
            where error.code == .assetMissing || error.code == .assetCorrupt
        {
            try await refuse(
                upload, ServiceError(.assetMissing, error.message).description)
        }
    }

    /// Finds out why the service has other bytes than a content's name says.
    ///
    /// - Throws: `assetMissing` if the file on this device is not what its name says; it is moved away.
    ///   `serviceUnavailable` if the file is good; it is then sent again, to another address.
    private func refute(_ content: ContentKey, of upload: AssetUpload) async throws {
        if try ContentFolder.hash(ofFileAt: folder.path(content)).key != content {
            try await store.assets.setAside(content)
            throw AssetDownload.missing
        }
        try await store.withLogWriter { try ReceiptWriter($0).forgetAddress(of: upload) }
        throw ServiceError(.serviceUnavailable, "the service has other bytes than were sent")
    }

    /// Keeps what the service answered, and what it calls the content.
    private func keep(
        _ file: ServiceAsset, of upload: AssetUpload, content: ContentKey?
    ) async throws {
        let until = scope.clock.milliseconds + AssetReceipt.lifeMilliseconds
        let receipt = AssetReceipt(file, zone: upload.place.id.zoneName, until: until)
        let byteCount = upload.asset.byteCount
        try await store.withLogWriter { log in
            try ReceiptWriter(log).keep(receipt, of: upload)
            guard let content else { return }
            try ContentNotes(log).note(content, byteCount: byteCount) {
                $0.checksum = file.fileChecksum ?? $0.checksum
            }
        }
    }

    /// Keeps where an upload goes, so that another process can go on with it.
    private func keep(address: String, of upload: AssetUpload) async {
        let until = scope.clock.milliseconds + AssetReceipt.lifeMilliseconds
        // Without it the upload begins anew.
        try? await store.withLogWriter { log in
            try ReceiptWriter(log).keep(address: address, until: until, of: upload)
        }
    }

    /// A receipt for a content that another record has on the service, so that it is not sent again; nil if there is
    /// none to be had.
    private func rereferenced(_ upload: AssetUpload) async -> ServiceAsset? {
        guard let holder = try? holder(of: upload),
            let file = try? await recordService(of: upload).rereference(
                holder, in: upload.place.id),
            let found = Asset(file), file.receipt != nil
        else { return nil }
        if found.hasSameContent(as: upload.asset) { return file }
        let contents = [found, upload.asset].map { try? store.assets.content(of: $0) }
        return contents[0] != nil && contents[0] == contents[1] ? file : nil
    }

    private func recordService(of upload: AssetUpload) throws -> any RecordService {
        try scope.service(for: upload.place, service)
    }

    /// The field of a record of the same zone that is on the service as it is here, and that holds the content of an
    /// upload.
    private func holder(of upload: AssetUpload) throws -> AssetField? {
        guard let key = ContentKey(upload.asset) else { return nil }
        return try store.read { transaction in
            let reader = transaction.reader
            var holder: AssetField?
            let slot = upload.place.slot
            guard scope.place(of: slot, reader.catalog) == upload.place else { return nil }
            try ContentStanding(key, reader).visitHolders { place, _, row in
                guard place.key.zone == slot, row.hasChangeTag, !row.isDirty,
                    let table = reader.catalog.table(place.entity),
                    let fields = try row.currentFields
                else { return true }
                for (field, value) in fields {
                    guard case .asset(let asset) = value, ContentKey(asset) == key,
                        let attribute = table.attribute(field)
                    else { continue }
                    holder = AssetField(
                        recordName: place.key.name.description, recordType: table.name,
                        fieldName: attribute.name)
                }
                return holder == nil
            }
            return holder
        }
    }

    private func refuse(_ upload: AssetUpload, _ reason: String) async throws {
        try await store.withLogWriter { log in
            try ReceiptWriter(log).keep(
                AssetReceipt(failure: reason, zone: upload.place.id.zoneName), of: upload)
        }
    }

    /// The content of a file, once it is here.
    private func here(_ asset: Asset) async throws -> ContentKey {
        if let content = try store.assets.content(of: asset), folder.holds(content) {
            return content
        }
        guard let key = ContentKey(asset) else { throw AssetDownload.missing }
        wanted[key] = asset
        do {
            try await run(.download(key), in: .download)
        } catch let error as ServiceError where error.code == .assetMissing {
            throw AssetDownload.missing
        }
        guard let content = try store.assets.content(of: asset) else { throw AssetDownload.missing }
        return content
    }

    // MARK: Downloads

    private func download(_ key: ContentKey) async throws {
        guard let asset = wanted[key] else { return }
        if let most = scope.configuration.assetBytesMax, try !store.assets.isHere(asset) {
            try await store.assets.evict(downTo: max(0, most - asset.byteCount))
        }
        let progress = progress(of: asset, isUpload: false)
        try await AssetDownload(asset, key, scope, service).run(progress: progress)
    }

    private func progress(of asset: Asset, isUpload: Bool) -> @Sendable (Int64) -> Void {
        let events = scope.events
        return { bytes in
            events.send(.transferring(asset, bytes: bytes, isUpload: isUpload))
        }
    }
}
