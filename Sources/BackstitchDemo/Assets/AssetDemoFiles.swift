import BackstitchCore
import Foundation

/// Files of this machine for the story of files: fonts, icons, documents.
struct AssetDemoFiles {
    /// What the story needs at least.
    static let countMin = 100
    static let bytesMin: Int64 = 20 << 20

    /// The largest file that is taken.
    private static let fileBytesMax = 8 << 20
    /// The most files that are looked at.
    private static let looksMax = 60_000
    /// How many small files come with the large ones.
    private static let smallCount = 110

    /// The files, the largest first.
    let paths: [String]

    /// - Parameter root: Where they are looked for, with all folders below.
    /// - Throws: if there are not enough.
    init(below root: String) throws {
        var found: [(path: String, bytes: Int)] = []
        let keys: Set<URLResourceKey> = [.isRegularFileKey, .isSymbolicLinkKey, .fileSizeKey]
        let walk = FileManager.default.enumerator(
            at: URL(filePath: root), includingPropertiesForKeys: Array(keys))
        var looks = 0
        while looks < Self.looksMax, let url = walk?.nextObject() as? URL {
            looks += 1
            guard let values = try? url.resourceValues(forKeys: keys),
                values.isRegularFile == true, values.isSymbolicLink != true,
                let bytes = values.fileSize, (1...Self.fileBytesMax).contains(bytes),
                FileManager.default.isReadableFile(atPath: url.path)
            else { continue }
            found.append((url.path, bytes))
        }
        found.sort { ($1.bytes, $0.path) < ($0.bytes, $1.path) }
        var chosen: [String] = []
        var bytes: Int64 = 0
        var rest = found[...]
        // Contents that are there twice count once: some more than is needed.
        while bytes < Self.bytesMin * 3 / 2, let next = rest.popFirst() {
            chosen.append(next.path)
            bytes += Int64(next.bytes)
        }
        let step = max(1, rest.count / Self.smallCount)
        for index in stride(from: rest.startIndex, to: rest.endIndex, by: step)
        where chosen.count < Self.smallCount + 60 {
            chosen.append(rest[index].path)
        }
        guard chosen.count >= Self.countMin, bytes >= Self.bytesMin else {
            throw DemoFailure(
                "Below \(root) are \(chosen.count) files with \(bytes) bytes, and the story needs "
                    + "\(Self.countMin) with \(Self.bytesMin). Install some fonts or documents.")
        }
        paths = chosen
    }

    /// The SHA-256 of a file, read in parts: another way than the store's.
    static func hash(ofFileAt path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        var hash = SHA256()
        while let part = try file.read(upToCount: 256 << 10), !part.isEmpty {
            hash.update(part)
        }
        return ContentHash.text(hash.finish())
    }
}
