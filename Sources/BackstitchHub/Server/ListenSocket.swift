import BackstitchHubCore
import CMicroHTTPD
import Glibc

/// A socket that listens.
struct ListenSocket: ~Copyable {
    private(set) var descriptor: Int32
    let port: UInt16

    /// Listens at an address.
    ///
    /// - Parameters:
    ///   - host: A name or a numeric address.
    ///   - port: 0 for one that is free.
    init(host: String, port: UInt16) throws(HubError) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let list else {
            throw HubError(
                .invalid, "'\(host)' is no address: \(String(cString: gai_strerror(status))).")
        }
        defer { freeaddrinfo(list) }
        let info = list.pointee
        let descriptor = socket(
            info.ai_family, info.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), info.ai_protocol)
        var yes: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard descriptor >= 0, bind(descriptor, info.ai_addr, info.ai_addrlen) == 0,
            listen(descriptor, 1_024) == 0
        else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw HubError(.inaccessible, "The hub can't listen at \(host):\(port): \(reason).")
        }
        self.descriptor = descriptor
        self.port = Self.port(of: descriptor)
    }

    /// Listens at a path of the file system, which only the user of this process may connect to.
    ///
    /// - Parameter path: A new name, or the one of a socket at which nobody listens any more.
    init(path: String) throws(HubError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard !bytes.isEmpty, bytes.count < room.count else { return false }
            room.copyBytes(from: bytes)
            return true
        }
        guard isShort else {
            throw HubError(
                .invalid, "The path of a socket has 1 to 107 bytes. Choose a shorter one.")
        }
        func call(_ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32)
            -> Int32
        {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK {
            let visitor = socket(AF_UNIX, type, 0)
            defer { close(visitor) }
            if call(connect, visitor) != 0, errno == ECONNREFUSED { unlink(path) }
        }
        let descriptor = socket(AF_UNIX, type, 0)
        // The rights of the socket are those of its descriptor, from the first moment on.
        guard descriptor >= 0, fchmod(descriptor, 0o600) == 0, call(bind, descriptor) == 0,
            listen(descriptor, 64) == 0
        else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw HubError(.inaccessible, "Nothing can listen at '\(path)': \(reason).")
        }
        self.descriptor = descriptor
        port = 0
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether a server at an address accepts a connection and reacts to bytes: by an answer, or by closing
    /// the connection, as a server does that expects encryption. The call waits for that.
    static func reacts(host: String, port: UInt16, within milliseconds: Int) -> Bool {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let list else { return false }
        defer { freeaddrinfo(list) }
        let info = list.pointee
        let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(info.ai_family, info.ai_socktype | flags, info.ai_protocol)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        func waits(for events: Int32) -> Bool {
            var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            var left = milliseconds / 2
            let end = ConnectionTable.nanoseconds + left * 1_000_000
            while true {
                let ready = poll(&waiting, 1, Int32(left))
                // A signal, of which a process has many, says nothing of the socket.
                guard ready < 0, errno == EINTR else { return ready > 0 }
                left = max(0, (end - ConnectionTable.nanoseconds) / 1_000_000)
            }
        }
        guard connect(descriptor, info.ai_addr, info.ai_addrlen) == 0 || errno == EINPROGRESS,
            waits(for: POLLOUT)
        else { return false }
        let request = Array(
            "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return false
        }
        return waits(for: POLLIN)
    }

    /// Gives the descriptor away: whoever takes it closes it.
    mutating func release() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_storage()
        var count = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &count)
            // The port is at the same place in the addresses of both versions of IP.
            return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }

    /// Whether a host is reached by programs of this machine only.
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.")
    }
}
