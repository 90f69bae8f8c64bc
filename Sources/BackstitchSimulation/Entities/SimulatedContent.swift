import Backstitch
import BackstitchCore
import BackstitchTesting

/// The contents of files in a simulation. There are few, so that records and devices have the same.
enum SimulatedContent {
    /// How many there are.
    static let count = 24
    private static let sizes = [0, 1, 7, 100, 511, 1_000, 4_096, 10_000]

    private static let all: [[UInt8]] = (0..<count).map { number in
        var generator = SeededGenerator(seed: UInt64(number) + 0xF11E)
        return (0..<sizes[number % sizes.count]).map { _ in
            UInt8(truncatingIfNeeded: generator.next() >> 32)
        }
    }

    /// The hashes of contents by the checksums that services give them.
    private static let hashes: [String: String] = {
        var hashes: [String: String] = [:]
        for bytes in all {
            let hash = SimulatedCloud.fileChecksum(of: bytes, isOpaque: false)
            hashes[hash] = hash
            hashes[SimulatedCloud.fileChecksum(of: bytes, isOpaque: true)] = hash
        }
        return hashes
    }()

    static func bytes(_ number: Int) -> [UInt8] { all[number] }

    /// The hash of what a checksum is of; the checksum itself if it is of no content here.
    static func hash(ofChecksum checksum: String) -> String { hashes[checksum] ?? checksum }

    /// The hash of a file's content.
    static func hash(of asset: Asset) -> String {
        asset.content ?? asset.serviceChecksum.map(hash(ofChecksum:)) ?? ""
    }

    /// What a photo holds, for a person to read.
    static func names(of photo: SimulatedPhoto) -> String {
        func name(_ asset: Asset) -> String { String(hash(of: asset).prefix(6)) }
        return "\(photo.image.map(name) ?? "-") [\(photo.pages.map(name).joined(separator: " "))]"
    }
}
