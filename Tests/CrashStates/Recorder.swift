import CFaults
import Glibc

/// Records what is written in a folder, from its beginning to its end.
///
/// Only one records at a time in a process: suites that record have the trait `.exclusiveFaults`.
package final class Recorder: Sendable {
    private let base: FolderImage
    private let names: [String]

    package init(of folder: String, names: [String]) {
        base = FolderImage(of: folder, names: names)
        self.names = names
        let strings = names.map { UnsafePointer<CChar>(strdup($0)) }
        CFaultsRecord(folder, strings, Int32(names.count))
        for string in strings { free(UnsafeMutablePointer(mutating: string)) }
    }

    /// Notes a moment.
    package func mark(_ number: Int) { Recording.mark(number) }

    /// Ends recording. To be called once.
    package func end() -> Recording {
        var count = 0
        let recorded = CFaultsRecorded(&count)
        defer { CFaultsFree(recorded, count) }
        let events = UnsafeBufferPointer(start: recorded, count: count).map { event in
            Recording.Event(event, file: event.file < 0 ? "" : names[Int(event.file)])
        }
        return Recording(base: base, events: events)
    }
}

extension Recording.Event {
    init(_ event: CFaultsEvent, file: String) {
        switch event.kind {
        case CFaultsEventSyncBegin: self = .syncBegan(file: file, number: Int(event.number))
        case CFaultsEventSyncEnd: self = .syncEnded(file: file, number: Int(event.number))
        case CFaultsEventMark: self = .mark(Int(event.number))
        case CFaultsEventPunch:
            self = .punch(file: file, offset: Int(event.offset), count: event.count)
        default:
            let bytes = UnsafeRawBufferPointer(start: event.bytes, count: event.count)
            self = .write(
                file: file, offset: Int(event.offset), bytes: Array(bytes),
                isSynced: event.kind == CFaultsEventWriteSynced)
        }
    }
}
