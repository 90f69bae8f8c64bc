import Foundation
import PeerInterface

/// What this process takes of the machine's memory now.
struct Memory {
    /// Allocated from the heap.
    let heapBytes = Int(peer_heap_bytes())
    /// In memory, files that are mapped included.
    let residentBytes: Int
    /// In memory and in no file.
    let anonymousBytes: Int

    init() {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func value(_ name: String) -> Int {
            for line in status.split(separator: "\n") where line.hasPrefix(name + ":") {
                let words = line.split(whereSeparator: \.isWhitespace)
                return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
            }
            return 0
        }
        residentBytes = value("VmRSS")
        anonymousBytes = value("RssAnon")
    }
}
