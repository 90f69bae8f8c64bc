public import BackstitchHub
import BackstitchHubCore

/// The files of a hub as objects of a bucket. Uploads under way, and files that were there before the bucket,
/// are in a folder.
///
/// Each object has a name of its own that is used once, and rows of the hub name it before it is made and
/// until it is gone. So a request that arrives late can take away nothing that came after it, and nothing
/// is looked for by listing the bucket.
final class BucketFiles: HubFiles {
    let objects: HubObjects?
    private let client: BucketClient
    private let folder: FolderFiles

    /// The threads that wait for the bucket. Each has one request under way, and no file in memory.
    private static let threads = 8

    init(_ bucket: Bucket, _ folder: FolderFiles, _ configuration: HubConfiguration) {
        self.folder = folder
        let client = BucketClient(bucket, clock: configuration.clock)
        self.client = client
        var limits = configuration.limits
        limits.readThreads = Self.threads
        objects = HubObjects(
            limits, .system, clock: configuration.clock,
            families: { client.metrics.families }, endRequests: client.end)
    }

    func beginServing() throws { try folder.beginServing() }

    func removeOldUploads() { folder.removeOldUploads() }

    func endServing() { folder.endServing() }

    /// That of the folder: uploads go there first. The bucket may be away, and records go on.
    func tryWriting() -> FileSpace { folder.tryWriting() }

    // MARK: Files

    private func key(_ file: HubFile) -> String? {
        file.object.map { object in
            "\(client.bucket.prefix)\(file.partition.text)/\(file.checksum)-\(object.name)"
        }
    }

    func path(_ file: HubFile) -> String { folder.path(file) }

    func byteCount(_ file: HubFile) throws -> Int? {
        guard let key = key(file) else { return folder.byteCount(file) }
        return try client.byteCount(key)
    }

    func read(_ file: HubFile, _ range: Range<Int>) throws -> [UInt8] {
        guard let key = key(file) else { return try folder.read(file, range) }
        guard !range.isEmpty else { return [] }
        return try client.read(key, range)
    }

    func remove(_ file: HubFile) throws -> Bool {
        guard let key = key(file) else { return folder.remove(file) }
        try client.remove(key)
        return true
    }

    /// Those in the folder. Objects go one by one, by their rows: another hub may use the bucket too.
    func removeAll(of partition: Partition) throws { try folder.removeAll(of: partition) }

    // MARK: Uploads

    func incomingPath(_ name: [UInt8]) -> String { folder.incomingPath(name) }

    func write(_ bytes: [UInt8], to path: String) throws { try folder.write(bytes, to: path) }

    func partsPath(_ name: [UInt8]) -> String { folder.partsPath(name) }

    func uploadedBytes(at path: String) throws -> Int { folder.uploadedBytes(at: path) }

    func append(_ part: [UInt8], to path: String, at offset: Int) throws {
        try folder.append(part, to: path, at: offset)
    }

    func take(_ path: String, byteCount: Int, to place: String) throws -> Bool {
        try folder.take(path, byteCount: byteCount, to: place)
    }

    func putBack(_ place: String, to path: String) { folder.putBack(place, to: path) }

    func digest(ofUploadAt path: String) throws -> [UInt8] { try folder.digest(ofUploadAt: path) }

    func discard(_ path: String) { folder.discard(path) }

    /// If the bucket is away, what was uploaded stays where it is: whoever sends the last part again need not
    /// send the others.
    func keep(_ path: String, as file: HubFile) throws {
        guard let key = key(file), let object = file.object else {
            return try folder.keep(path, as: file)
        }
        guard folder.uploadedBytes(at: path) == object.byteCount else {
            throw HubError(.inaccessible, "An upload can't be kept: it is not all there.")
        }
        try client.put(key, path: path, byteCount: object.byteCount, sha256: file.checksum)
        folder.discard(path)
    }
}

extension HubFileStore {
    /// Keeps files in a bucket.
    public init(_ bucket: Bucket) {
        self.init(
            open: { BucketFiles(bucket, $0, $1) },
            look: { configuration in
                var bucket = bucket
                (bucket.patience.attempts, bucket.patience.requestMilliseconds) = (1, 5_000)
                try BucketClient(bucket, clock: configuration.clock).check()
            })
    }
}
