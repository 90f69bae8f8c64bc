import Foundation
import PeerInterface

/// A folder with the files of a store.
struct Folder {
    let path: String

    init(_ path: String) { self.path = path }

    /// The sizes of all files below it together.
    var bytes: Int { sum { Int($0.st_size) } }

    /// What all files below it take up on the disk together, without holes.
    var allocatedBytes: Int { sum { Int($0.st_blocks) * 512 } }

    private func sum(_ size: (stat) -> Int) -> Int {
        let found = FileManager.default.enumerator(atPath: path)
        var sum = 0
        while let name = found?.nextObject() as? String {
            var status = stat()
            if stat(path + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
                sum += size(status)
            }
        }
        return sum
    }

    /// Deletes it, where it is there.
    func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Whether it is kept in memory, where a sync costs nothing.
    var isInMemory: Bool { peer_is_in_memory(path) }
}
