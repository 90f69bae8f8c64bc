import PeerInterface

extension Contact {
    /// The digest that the engines in C have for the contact.
    var digest: UInt64 {
        get throws {
            guard let department else { throw EngineFailure(description: "no department") }
            var contact = peer_contact()
            contact.id = id.bytes
            contact.department = department.bytes
            contact.age = age
            contact.balance = balance
            contact.active = active
            contact.created_at = createdMilliseconds
            var texts = firstName + lastName + email + notes
            var row = peer_row()
            let status = texts.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) { bytes in
                    var start = 0
                    func text(_ string: String) -> peer_text {
                        let count = string.utf8.count
                        defer { start += count }
                        return peer_text(
                            bytes: bytes.baseAddress.map { $0 + start }, count: UInt32(count))
                    }
                    contact.first_name = text(firstName)
                    contact.last_name = text(lastName)
                    contact.email = text(email)
                    contact.notes = text(notes)
                    return peer_row_fill(&row, &contact)
                }
            }
            guard status == 0 else { throw EngineFailure(description: "a contact is too long") }
            return peer_digest(&row)
        }
    }
}
