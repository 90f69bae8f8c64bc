import BackstitchHubCore
import Glibc

/// What the process takes up, by the names that Prometheus' own clients have.
enum ProcessFigures {
    /// - Parameter startMilliseconds: When the process began to serve, since 1970.
    static func families(startMilliseconds: Int64) -> [MetricFamily] {
        var families = [
            MetricFamily(
                .gauge, "process_start_time_seconds",
                "When the hub began to serve, in seconds since 1970.",
                Int(startMilliseconds / 1_000)),
            MetricFamily(
                .gauge, "process_max_fds", "How many files it may have open.",
                ProcessDescriptors.limit),
        ]
        if let count = openFiles {
            families.append(
                MetricFamily(.gauge, "process_open_fds", "How many files it has open.", count))
        }
        guard let text = text(of: "/proc/self/stat"), let figures = Stat(text) else {
            return families
        }
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        var processor = MetricFamily(
            .counter, "process_cpu_seconds_total", "Time of the processor, in seconds.")
        processor.add("\(Double(figures.ticks) / ticks)")
        return families + [
            processor,
            MetricFamily(
                .gauge, "process_virtual_memory_bytes", "Bytes of address space.",
                figures.virtualBytes),
            MetricFamily(
                .gauge, "process_resident_memory_bytes", "Bytes of memory.",
                figures.residentPages * Int(sysconf(Int32(_SC_PAGESIZE)))),
            MetricFamily(.gauge, "process_threads", "How many threads it has.", figures.threads),
        ]
    }

    /// Figures of `/proc/PID/stat`, see proc(5).
    struct Stat: Equatable {
        let ticks: Int
        let threads: Int
        let virtualBytes: Int
        let residentPages: Int

        /// nil if the text is not as it is expected.
        init?(_ text: String) {
            // The name of the program is in brackets, and may have brackets and blanks.
            guard let end = text.lastIndex(of: ")") else { return nil }
            // The first is field 3 of the description.
            let fields = text[text.index(after: end)...].split { $0 == " " || $0 == "\n" }
            func number(_ field: Int) -> Int? {
                field - 3 < fields.count ? Int(fields[field - 3]) : nil
            }
            guard let user = number(14), let system = number(15), let threads = number(20),
                let virtual = number(23), let resident = number(24)
            else { return nil }
            ticks = user + system
            (self.threads, virtualBytes, residentPages) = (threads, virtual, resident)
        }
    }

    private static func text(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    private static var openFiles: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // The folder itself, and the entries for it and the one above.
        return max(0, count - 3)
    }
}

/// What the folder of a hub takes up, and what is left beside it.
enum FolderFigures {
    static func families(of folder: String) -> [MetricFamily] {
        var families: [MetricFamily] = []
        var status = stat()
        if stat(folder + "/data.mdb", &status) == 0 {
            families.append(
                MetricFamily(
                    .gauge, "backstitch_hub_storage_bytes",
                    "Bytes that the data file takes up on disk; files that records hold not counted.",
                    Int(status.st_blocks) * 512))
        }
        var space = statvfs()
        if statvfs(folder, &space) == 0 {
            families.append(
                MetricFamily(
                    .gauge, "backstitch_hub_storage_available_bytes",
                    "Bytes that are left on the disk of the folder.",
                    Int(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize))))
        }
        return families
    }
}
