import Glibc

/// Tells systemd, or another service manager, the state of the service, as sd_notify(3) describes it.
///
/// If `$NOTIFY_SOCKET` is not set, nothing is sent. A failure to send does not end the service.
struct ServiceManager: Sendable {
    /// The name of the socket, as the kernel has it; nil if nothing is to be sent.
    private let name: [UInt8]?
    /// How long the service may be silent before it is restarted, in microseconds; nil without a
    /// watchdog.
    let watchdogMicroseconds: UInt64?

    /// - Parameters:
    ///   - variables: The environment.
    ///   - process: This process. A watchdog that is set for another process is ignored.
    init(variables: [String: String], process: pid_t) {
        name = variables["NOTIFY_SOCKET"].flatMap(Self.name)
        let isOwn = variables["WATCHDOG_PID"].map { $0 == String(process) } ?? true
        let time = isOwn ? variables["WATCHDOG_USEC"].flatMap(UInt64.init) : nil
        watchdogMicroseconds = time == 0 ? nil : time
    }

    /// The name of a socket: a path, or after `@` a name that is in no file system, for which the kernel
    /// has a zero byte in front. nil if the text is neither, or too long.
    static func name(_ text: String) -> [UInt8]? {
        var name = Array(text.utf8)
        let bytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard name.count > 1, name.count <= bytesMax else { return nil }
        switch name[0] {
        case UInt8(ascii: "/"): return name
        case UInt8(ascii: "@"):
            name[0] = 0
            return name
        default: return nil
        }
    }

    /// Sends assignments such as `READY=1`, all in one datagram.
    func tell(_ lines: String...) {
        guard let name else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        // A name without a path ends where the address does, and a path with a zero byte.
        let end = name[0] == 0 ? 0 : 1
        let count = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + name.count + end }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0, let count else { return }
        defer { close(descriptor) }
        let text = Array(lines.joined(separator: "\n").utf8)
        unsafe withUnsafePointer(to: address) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = unsafe sendto(
                    descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, socklen_t(count))
            }
        }
    }
}
