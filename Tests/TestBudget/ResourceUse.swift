import Foundation
import Glibc

/// The threads, descriptors, addresses and memory of processes.
struct ResourceUse: Equatable, Sendable {
    var processes = 0
    var threads = 0
    var descriptors = 0
    /// In bytes.
    var mapped = 0
    /// In bytes.
    var resident = 0

    /// The most that the process of the tests may use at any time, whatever the machine.
    static let limit = ResourceUse(
        processes: .max, threads: 300, descriptors: 600, mapped: 4 << 40, resident: 3 << 30)

    /// The larger of two, one by one.
    func peak(_ other: ResourceUse) -> ResourceUse {
        ResourceUse(
            processes: max(processes, other.processes), threads: max(threads, other.threads),
            descriptors: max(descriptors, other.descriptors), mapped: max(mapped, other.mapped),
            resident: max(resident, other.resident))
    }

    /// What was added since an earlier use, one by one.
    func since(_ earlier: ResourceUse) -> ResourceUse {
        ResourceUse(
            processes: processes - earlier.processes, threads: threads - earlier.threads,
            descriptors: descriptors - earlier.descriptors, mapped: mapped - earlier.mapped,
            resident: resident - earlier.resident)
    }

    /// What a test with some of the places may use. The first tenth of all is for the tests' program itself.
    static func share(places: Int, of total: Int) -> ResourceUse {
        func part(_ limit: Int) -> Int { limit / 10 * 9 * min(places, total) / total }
        return ResourceUse(
            processes: .max, threads: part(limit.threads), descriptors: part(limit.descriptors),
            mapped: part(limit.mapped), resident: part(limit.resident))
    }

    /// Whether it stays within another one, one by one.
    func isWithin(_ limit: ResourceUse) -> Bool { limit.peak(self) == limit }

    var text: String {
        """
        \(threads) threads of \(Self.limit.threads), \(descriptors) descriptors of \
        \(Self.limit.descriptors), \(mapped >> 30) GiB of addresses of \(Self.limit.mapped >> 30), \
        \(resident >> 20) MiB of memory of \(Self.limit.resident >> 20), in \(processes) processes
        """
    }
}

extension ResourceUse {
    /// A process, and what it uses.
    struct OfProcess: Sendable {
        let number: pid_t
        let name: String
        let parent: pid_t
        var use: ResourceUse

        /// Reads the one line of `/proc/PID/stat` (proc_pid_stat(5)); `nil` if the process has ended.
        init?(_ process: pid_t) {
            guard let data = FileManager.default.contents(atPath: "/proc/\(process)/stat"),
                let open = data.firstIndex(of: UInt8(ascii: "(")),
                let close = data.lastIndex(of: UInt8(ascii: ")"))
            else { return nil }
            // The fields behind the name: the third one is the first of them.
            let fields = data[(close + 2)...].split(separator: UInt8(ascii: " ")).map {
                Int(String(decoding: $0, as: UTF8.self)) ?? 0
            }
            guard fields.count > 21 else { return nil }
            number = process
            name = String(decoding: data[(open + 1)..<close], as: UTF8.self)
            parent = pid_t(fields[1])
            use = ResourceUse(
                processes: 1, threads: fields[17], mapped: fields[20],
                resident: fields[21] * Int(sysconf(Int32(_SC_PAGESIZE))))
        }

        fileprivate mutating func countDescriptors() {
            let descriptors = try? FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(number)/fd")
            use.descriptors = descriptors?.count ?? 0
        }
    }

    /// What this process uses, without those that it started.
    static func ofThisProcess() -> ResourceUse {
        guard var one = OfProcess(getpid()) else { return ResourceUse() }
        one.countDescriptors()
        return one.use
    }

    /// What a process and all that it started use, directly or through others.
    ///
    /// A process that ends during the look is left out, and so is a server of PostgreSQL, which is
    /// installed by choice and has limits of its own.
    static func ofProcess(_ root: pid_t) -> [OfProcess] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        var all: [pid_t: OfProcess] = [:]
        for process in names.compactMap({ pid_t($0) }) { all[process] = OfProcess(process) }
        return all.compactMap { process, one in
            var ancestor = process
            while ancestor != root, let parent = all[ancestor]?.parent { ancestor = parent }
            guard ancestor == root, one.name != "postgres" else { return nil }
            // A child between its fork and its program has the memory and descriptors of its parent, and
            // one that ends has no memory.
            guard process == root || ![0, all[one.parent]?.use.mapped].contains(one.use.mapped)
            else { return nil }
            var one = one
            one.countDescriptors()
            return one
        }
    }

    /// The sum of some.
    static func sum(_ all: [OfProcess]) -> ResourceUse {
        all.reduce(into: ResourceUse()) { sum, one in
            sum.processes += 1
            sum.threads += one.use.threads
            sum.descriptors += one.use.descriptors
            sum.mapped += one.use.mapped
            sum.resident += one.use.resident
        }
    }
}
