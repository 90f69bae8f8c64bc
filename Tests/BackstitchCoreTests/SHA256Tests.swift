import BackstitchCore
import TestBudget
import Testing

/// The examples of FIPS 180-4, and lengths around the block.
@Suite(.budgeted) struct SHA256Tests {
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 55),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
        ),
        (
            String(repeating: "a", count: 64),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
        ),
    ])
    func `a hash is the standard's`(text: String, hash: String) {
        #expect(SHA256.hexadecimal(of: Array(text.utf8)) == hash)
    }

    @Test func `a content that comes in parts has the same hash, wherever they end`() {
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let whole = SHA256.hash(of: bytes)
        for size in [1, 3, 63, 64, 65, 127, 128, 200] {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hash.update($0) }
            }
            #expect(hash.byteCount == 300)
            #expect(hash.finish() == whole, "parts of \(size)")
        }
    }

    @Test func `a million letters have the standard's hash`() {
        var hash = SHA256()
        let part = [UInt8](repeating: UInt8(ascii: "a"), count: 10_000)
        for _ in 0..<100 { part.withUnsafeBytes { hash.update($0) } }
        #expect(
            ContentHash.text(hash.finish())
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}
