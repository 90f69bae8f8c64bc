import Foundation
import PeerInterface

/// What the kernel counts for the block device that a folder is on, or its partition.
struct DiskCounters {
    /// In bytes, of everybody who wrote to the device.
    let writtenBytes: Int
    /// The calls that made the device write down what it has in its cache.
    let flushes: Int

    private static let bytesPerSector = 512
    /// Where they stand in a device's `stat` (Documentation/block/stat.rst of Linux).
    private static let (sectorField, flushField) = (6, 15)

    /// Brings what the file system still has in memory to the device, and reads its counters.
    ///
    /// - Returns: `nil` if the folder is on no block device, or the kernel doesn't count flushes.
    init?(ofFolder path: String) {
        var status = stat()
        guard peer_sync_file_system(path) == 0, stat(path, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        let major = (device >> 8) & 0xfff | (device >> 32) & ~0xfff
        let minor = device & 0xff | (device >> 12) & ~0xff & 0xffff_ffff
        let counters = "/sys/dev/block/\(major):\(minor)/stat"
        guard let text = try? String(contentsOfFile: counters, encoding: .utf8) else {
            return nil
        }
        let fields = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard fields.count > Self.flushField else { return nil }
        writtenBytes = fields[Self.sectorField] * Self.bytesPerSector
        flushes = fields[Self.flushField]
    }
}
