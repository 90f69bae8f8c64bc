public import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB
import Threading

extension Store {
    /// The files that records hold.
    public var assets: StoreAssets { StoreAssets(store: self) }
}

/// The contents of the files that a store's records hold: beside the database, one for each content,
/// however many records hold it.
///
/// ```swift
/// photo.image = try await store.assets.add(contentsOf: url, contentType: "image/jpeg")
/// try await store.save(photo)
/// let reader = try await store.assets.open(photo.image)
/// for try await chunk in reader.chunks(of: 64 << 10) { … }
/// ```
public struct StoreAssets: Sendable {
    let store: Store

    /// Where the contents are.
    package var folder: ContentFolder { ContentFolder(store: store.environment.directory) }

    /// Has an engine download the contents that are opened and not here; the last one counts, for all
    /// `Store` objects on the files.
    package func setProvider(_ provider: any AssetProvider) {
        store.shared.assetProvider.withLock { $0.provider = provider }
    }

    // MARK: Adding

    /// Copies a file into the store, in parts, and returns what to save in a record.
    ///
    /// The content is on disk when this returns. It stays for an hour without a record that holds it;
    /// then it may be collected.
    ///
    /// - Parameters:
    ///   - url: The file. It should not change meanwhile.
    ///   - contentType: The media type, such as `image/jpeg`.
    ///   - fileName: The name to remember; nil takes the file's.
    /// - Throws: `inaccessible` for a file that can't be read, and for a store in memory; `full`, `io`,
    ///   `closed`; `CancellationError`.
    public func add(
        contentsOf url: URL, contentType: String? = nil, fileName: String? = nil
    ) async throws -> Asset {
        let source = try AssetReader(path: url.localPath())
        return try await add(
            contentType: contentType, fileName: fileName ?? url.lastPathComponent
        ) { writer in
            for try await chunk in source.chunks(of: ContentFolder.partBytes) {
                try writer.write(chunk)
            }
        }
    }

    /// Adds the content that a closure writes, and returns what to save in a record; as
    /// ``add(contentsOf:contentType:fileName:)``.
    ///
    /// - Throws: what the closure throws; then nothing is added.
    public func add(
        contentType: String? = nil, fileName: String? = nil,
        _ body: (AssetWriter) async throws -> Void
    ) async throws -> Asset {
        guard store.environment.isOnDisk else {
            throw StoreError(
                .inaccessible, "A store in memory keeps no files. Open a store in a folder.")
        }
        let writer = try AssetWriter(folder)
        try await body(writer)
        try Task.checkCancellation()
        let (path, content, byteCount) = try writer.end()
        let asset = Asset(
            content: content.text, byteCount: byteCount, contentType: contentType,
            fileName: fileName)
        try await adopt(path, as: content, byteCount: byteCount)
        writer.release()
        return asset
    }

    /// Gives a file, which is on disk, its name and notes that, while no collection can run.
    package func adopt(
        _ path: String, as content: ContentKey, byteCount: Int64, checksum: String? = nil
    ) async throws {
        let folder = folder
        try await store.withLogWriter { log in
            // The closure may run again after the file got its name.
            if !folder.holds(content) || FileManager.default.fileExists(atPath: path) {
                try folder.keep(path, as: content)
            }
            let now = log.settings.milliseconds()
            try ContentNotes(log).note(content, byteCount: byteCount) { note in
                note.added = now
                note.byteCount = byteCount
                note.used = ContentNote.wholeHour(now)
                if let checksum { note.checksum = checksum }
            }
        }
    }

    // MARK: Reading

    /// Opens the content of a file; brings it here first if only the service has it.
    ///
    /// - Throws: `notHere` if it is not on this device and no engine runs that could download it, or
    ///   the service can't be reached; `assetMissing` if the service does not have it either;
    ///   `assetCorrupt` if the file has another size than the content had when it came here;
    ///   `CancellationError`.
    public func open(_ asset: Asset) async throws -> AssetReader {
        if let reader = try await openHere(asset) { return reader }
        guard let provider = store.shared.assetProvider.withLock({ $0.provider }) else {
            throw Self.notHere
        }
        try await provider.provide(asset)
        guard let reader = try await openHere(asset) else { throw Self.notHere }
        return reader
    }

    private static var notHere: StoreError {
        StoreError(
            .notHere,
            "The content of the file is not on this device. Start a sync engine for the store, or try "
                + "again when the service can be reached.")
    }

    /// Whether the content of a file is on this device.
    public func isHere(_ asset: Asset) throws -> Bool {
        try content(of: asset).map(folder.holds) ?? false
    }

    private func openHere(_ asset: Asset) async throws -> AssetReader? {
        guard let content = try content(of: asset), folder.holds(content) else { return nil }
        let reader: AssetReader
        do {
            reader = try AssetReader(path: folder.path(content))
        } catch let error as StoreError where error.code == .inaccessible {
            // It was evicted in between.
            if !folder.holds(content) { return nil }
            throw error
        }
        let note = try store.read { try $0.reader.meta.contentNote(content) }
        if let note, note.byteCount != reader.byteCount {
            throw StoreError(
                .assetCorrupt,
                "The file \(content.text) of the store has \(reader.byteCount) bytes, and had "
                    + "\(note.byteCount). Run 'backstitch assets STORE --verify', which moves it away, "
                    + "and open it again to download it, or add the file again.")
        }
        let hour = ContentNote.wholeHour(store.configuration.clock.milliseconds)
        if note?.used != hour {
            try await store.withLogWriter { log in
                try ContentNotes(log).note(content, byteCount: reader.byteCount) { $0.used = hour }
            }
        }
        return reader
    }

    package func content(of asset: Asset) throws -> ContentKey? {
        try store.read { try $0.reader.meta.content(of: asset) }
    }

    // MARK: Keeping

    /// Keeps a content on this device: it is not evicted, and not collected.
    public func pin(_ asset: Asset) async throws { try await setPin(true, asset) }

    /// Ends ``pin(_:)``.
    public func unpin(_ asset: Asset) async throws { try await setPin(nil, asset) }

    private func setPin(_ isPinned: Bool?, _ asset: Asset) async throws {
        guard let content = try content(of: asset), let byteCount = folder.byteCount(content)
        else { throw Self.notHere }
        try await store.withLogWriter { log in
            try ContentNotes(log).note(content, byteCount: byteCount) { $0.isPinned = isPinned }
        }
    }

    /// How much is on this device.
    ///
    /// - Complexity: O(*n*) in the contents.
    public func usage() -> Usage {
        folder.contents.reduce(into: Usage()) { usage, content in
            usage.note(bytes: folder.byteCount(content) ?? 0)
        }
    }
}
