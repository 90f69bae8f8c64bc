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

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether who listens at an address takes up a connection and reacts to what it sends: by an
    /// answer, or by closing it, as an engine does that expects encryption. It waits for it.
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
