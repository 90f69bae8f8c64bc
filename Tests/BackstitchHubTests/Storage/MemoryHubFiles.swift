import Threading
import WireCrypto

@testable import BackstitchHubCore

/// A hub's files in memory, as plain as can be.
final class MemoryHubFiles: HubFiles {
    private let contents = Locked<[String: [UInt8]]>([:])

    func beginServing() throws {
        contents.withLock { contents in
            contents = contents.filter { !$0.key.hasPrefix("incoming/") }
        }
    }

    func endServing() {}

    func tryWriting() -> FileSpace { .left }

    func path(_ file: HubFile) -> String { "files/\(file.partition.text)/\(file.checksum)" }

    func byteCount(_ file: HubFile) -> Int? { contents.withLock { $0[path(file)]?.count } }

    func read(_ file: HubFile, _ range: Range<Int>) throws -> [UInt8] {
        guard let bytes = contents.withLock({ $0[path(file)] }) else {
            throw HubError(.notFound, "There is no such file.")
        }
        return Array(bytes[range.clamped(to: 0..<bytes.count)])
    }

    func remove(_ file: HubFile) -> Bool {
        discard(path(file))
        return true
    }

    func removeAll(of partition: Partition) throws {
        contents.withLock { contents in
            contents = contents.filter { !$0.key.hasPrefix("files/\(partition.text)/") }
        }
    }

    func incomingPath(_ name: [UInt8]) -> String { "incoming/\(name)" }

    func write(_ bytes: [UInt8], to path: String) throws { contents.withLock { $0[path] = bytes } }

    func partsPath(_ name: [UInt8]) -> String { "parts/\(name)" }

    func uploadedBytes(at path: String) throws -> Int { contents.withLock { $0[path]?.count ?? 0 } }

    func append(_ part: [UInt8], to path: String, at offset: Int) throws {
        try contents.withLock { contents in
            let before = contents[path] ?? []
            guard offset <= before.count else { throw PartGap(uploadedBytes: before.count) }
            if before[offset...].starts(with: part), !part.isEmpty { return }
            contents[path] = before[..<offset] + part
        }
    }

    func take(_ path: String, byteCount: Int, to place: String) throws -> Bool {
        contents.withLock { contents in
            guard contents[path]?.count == byteCount else { return false }
            contents[place] = contents.removeValue(forKey: path)
            return true
        }
    }

    func putBack(_ place: String, to path: String) {
        contents.withLock { contents in
            guard let bytes = contents.removeValue(forKey: place), contents[path] == nil else {
                return
            }
            contents[path] = bytes
        }
    }

    func digest(ofUploadAt path: String) throws -> [UInt8] {
        Digest.sha256(contents.withLock { $0[path] ?? [] })
    }

    func discard(_ path: String) { contents.withLock { $0[path] = nil } }

    func keep(_ path: String, as file: HubFile) throws {
        try contents.withLock { contents in
            guard let bytes = contents.removeValue(forKey: path) else {
                throw HubError(.notFound, "There is no such upload.")
            }
            contents[self.path(file)] = bytes
        }
    }
}
