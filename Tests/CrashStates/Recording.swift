import CFaults
import Glibc

/// What was written and synced in a folder, in order, from which the states that a power cut can
/// leave follow.
package struct Recording: Sendable {
    /// Something that happened.
    package enum Event: Sendable {
        /// Bytes were written; `isSynced` if they were on disk at once.
        case write(file: String, offset: Int, bytes: [UInt8], isSynced: Bool)
        /// A hole was made: bytes became zeros, and the file kept its length.
        case punch(file: String, offset: Int, count: Int)
        case syncBegan(file: String, number: Int)
        case syncEnded(file: String, number: Int)
        /// The test noted something.
        case mark(Int)
    }

    /// The folder when recording began, all of it on disk.
    package let base: FolderImage
    package let events: [Event]

    /// Records while a closure runs.
    package init(of folder: String, names: [String], during body: () throws -> Void) rethrows {
        let recorder = Recorder(of: folder, names: names)
        do {
            try body()
        } catch {
            _ = recorder.end()
            throw error
        }
        self = recorder.end()
    }

    init(base: FolderImage, events: [Event]) {
        self.base = base
        self.events = events
    }

    /// This recording and a later one of the same system, in another folder that began with all
    /// that was written here. What was not synced here may still be lost then.
    package func followed(by later: Recording) -> Recording {
        Recording(base: base, events: events + later.events)
    }

    /// This recording up to an event, in which the process died: if that is a write, it was made, and
    /// nothing is known of its being on disk.
    package func ended(at index: Int) -> Recording {
        var events = Array(events.prefix(index + 1))
        if case .write(let file, let offset, let bytes, _) = events[index] {
            events[index] = .write(file: file, offset: offset, bytes: bytes, isSynced: false)
        }
        return Recording(base: base, events: events)
    }

    /// Notes a moment of the recording that runs.
    package static func mark(_ number: Int) { CFaultsMark(Int32(number)) }

    /// The marks before an event.
    package func marks(before index: Int) -> [Int] {
        events[..<index].compactMap { if case .mark(let number) = $0 { number } else { nil } }
    }

    /// The folder as the system has it before an event: nothing is lost. What a killed process
    /// leaves.
    package func kill(at index: Int) -> FolderImage {
        image(at: index) { _ in true }
    }

    /// A folder that a power cut before an event may leave: what was synced is there; of the rest,
    /// and of the write that is under way, any sectors may be.
    package func powerCut(
        at index: Int, using generator: inout some RandomNumberGenerator
    ) -> FolderImage {
        let shares: [Double] = [0, 0.05, 0.3, 0.5, 0.7, 0.95, 1]
        let share = shares.randomElement(using: &generator) ?? 0
        let isWhole = Bool.random(using: &generator)
        var sectors = generator
        defer { generator = sectors }
        return image(at: index) { sector in
            // Whole writes are lost or kept, or every sector on its own.
            if isWhole, sector > 0 { return nil }
            return Double.random(in: 0..<1, using: &sectors) < share
        }
    }

    /// - Parameter isKept: Whether a sector of an unsynced write is kept, by its number in the
    ///   write; `nil` for the same as the one before.
    private func image(at index: Int, isKept: (Int) -> Bool?) -> FolderImage {
        let synced = syncedWrites(before: index)
        var image = base
        for (number, event) in events.prefix(index + 1).enumerated() {
            guard let (file, offset, bytes) = Self.bytes(of: event, in: image) else { continue }
            if synced.contains(number) {
                Self.write(bytes[...], at: offset, to: &image.files[file, default: []])
                continue
            }
            var keeps = false
            // Sectors of the file, not of the write, are what the disk writes whole.
            var start = 0
            var sector = 0
            while start < bytes.count {
                let end = min(bytes.count, (offset + start) / 512 * 512 + 512 - offset)
                keeps = isKept(sector) ?? keeps
                if keeps {
                    Self.write(
                        bytes[start..<end], at: offset + start,
                        to: &image.files[file, default: []])
                }
                start = end
                sector += 1
            }
        }
        return image
    }

    /// What an event writes, and where; a hole is zeros up to the end of the file.
    private static func bytes(
        of event: Event, in image: FolderImage
    ) -> (file: String, offset: Int, bytes: [UInt8])? {
        switch event {
        case .write(let file, let offset, let bytes, _): return (file, offset, bytes)
        case .punch(let file, let offset, let count):
            let end = min(offset + count, image.files[file]?.count ?? 0)
            return (file, offset, [UInt8](repeating: 0, count: max(0, end - offset)))
        case .syncBegan, .syncEnded, .mark: return nil
        }
    }

    /// The numbers of the writes that are on disk before an event.
    private func syncedWrites(before index: Int) -> Set<Int> {
        var synced: Set<Int> = []
        var waiting: [String: [Int]] = [:]
        var began: [Int: Int] = [:]
        for (number, event) in events[..<index].enumerated() {
            switch event {
            case .write(let file, _, _, let isSynced):
                if isSynced {
                    synced.insert(number)
                } else {
                    waiting[file, default: []].append(number)
                }
            case .punch(let file, _, _): waiting[file, default: []].append(number)
            case .syncBegan(_, let sync): began[sync] = number
            case .syncEnded(let file, let sync):
                guard let start = began[sync] else { continue }
                synced.formUnion((waiting[file] ?? []).filter { $0 < start })
                waiting[file]?.removeAll { $0 < start }
            case .mark: continue
            }
        }
        return synced
    }

    private static func write(_ bytes: ArraySlice<UInt8>, at offset: Int, to file: inout [UInt8]) {
        let end = offset + bytes.count
        if file.count < end {
            file.append(contentsOf: [UInt8](repeating: 0, count: end - file.count))
        }
        file.replaceSubrange(offset..<end, with: bytes)
    }
}
